package plan

import (
	"io"
	"iter"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

// Head is the first line of a plan.
type Head struct {
	ID       string             `json:"id"` // of the plan and its replay
	Pipeline string             `json:"pipeline"`
	Source   string             `json:"source"`      // the pipeline's source topic
	To       string             `json:"to,omitzero"` // topic that dead letters go to instead of the source topic
	DLQ      string             `json:"dlq"`
	MadeAt   time.Time          `json:"made_at"`
	By       string             `json:"by"`
	Filter   deadletters.Filter `json:"filter"`
	// Mapping is the fingerprint of the mapping that made the verdicts; empty without a pipeline.
	Mapping string `json:"mapping,omitzero"`
	// Force is the operator's reason why dead letters may overwrite newer data; empty if they may not.
	Force string `json:"force_version,omitzero"`
	// MaxReplays is how often a dead letter of a DLQ without a pipeline may be put back; 0 in a pipeline's plan,
	// which has no such limit.
	MaxReplays int `json:"max_replays,omitzero"`
	// KeepTimestamp gives the replayed records the timestamps of the records that died.
	KeepTimestamp bool `json:"keep_timestamp,omitzero"`
	// Seen has the offsets up to which compacted target topics were searched for newer values.
	Seen map[string]map[int32]int64 `json:"seen,omitzero"`
	// Rewrite changes the values of a DLQ without a pipeline before they go back; the zero value leaves them
	// unchanged.
	Rewrite rewrite.Spec `json:"rewrite,omitzero"`
	// Overtaken counts dead letters that the filter left out only because the consumer closed them as superseded. A
	// filter that names statuses or IDs leaves out none.
	Overtaken int `json:"overtaken,omitzero"`
	// Doubt says why Superseded and Overwrites are incomplete, or which topic's settings are unknown; empty if
	// everything was read.
	Doubt string `json:"doubt,omitzero"`
}

// Alone reports whether the plan is for a DLQ without a pipeline, whose dead letters nothing has judged.
func (h *Head) Alone() bool { return h.MaxReplays > 0 }

// Destination returns the topic that dead letters go to.
func (h *Head) Destination() string {
	if h.To != "" {
		return h.To
	}
	return h.Source
}

// Plan is the frozen selection of a replay. Making one changes nothing; executing one changes only its dead letters.
type Plan struct {
	Head
	Letters  int                  // number of dead letters
	Checksum string               // "sha256:<64 hex>" of the head and the lines
	Spans    map[int32]kafka.Span // spans of the DLQ that contain the dead letters
	summary  Summary
	targets  map[string]int
	outlook  outlook
	open     func() (io.ReadCloser, error)
	end      func() error // nil if nothing must be closed
}

// Close releases a plan that [Scratch] made. The plan cannot be read afterwards. For other plans, Close does nothing.
func (p *Plan) Close() error {
	if p.end == nil {
		return nil
	}
	return p.end()
}

// Summary counts the actions and the verdicts of the plan.
func (p *Plan) Summary() Summary { return p.summary }

// Targets counts the dead letters to put back by target topic. It is empty in a pipeline's plan, whose dead letters
// all go to [Head.Destination].
func (p *Plan) Targets() map[string]int { return p.targets }

// Outlook groups the dead letters by the error that they died of and by their expected outcome, largest group first.
func (p *Plan) Outlook() []Outcome { return p.outlook.sorted() }

// All yields the lines in the order of the DLQ: partition, then offset. An error is yielded last.
func (p *Plan) All() iter.Seq2[*Line, error] {
	return func(yield func(*Line, error) bool) {
		file, err := p.open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = file.Close() }()
		lines := newLines(file)
		if _, err = lines.head(); err != nil {
			yield(nil, err)
			return
		}
		for {
			l, _, err := lines.letter()
			if l == nil && err == nil || !yield(l, err) || err != nil {
				return
			}
		}
	}
}
