package plan

import (
	"io"
	"iter"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

// Head is what a plan says before its letters.
type Head struct {
	ID       string             `json:"id"` // of the plan and of the replay that it becomes
	Pipeline string             `json:"pipeline"`
	Source   string             `json:"source"`      // the pipeline's source topic
	To       string             `json:"to,omitzero"` // topic that letters go to instead of the source
	DLQ      string             `json:"dlq"`
	MadeAt   time.Time          `json:"made_at"`
	By       string             `json:"by"`
	Filter   deadletters.Filter `json:"filter"`
	// Mapping is the fingerprint of the mapping that the expectations come from; empty without a pipeline.
	Mapping string `json:"mapping,omitzero"`
	// Force says why letters may overwrite newer data, in the operator's words; empty when they may not.
	Force string `json:"force_version,omitzero"`
	// MaxReplays is how often a letter of a DLQ without a pipeline may be put back; 0 in a pipeline's plan, which has no such limit.
	MaxReplays int `json:"max_replays,omitzero"`
	// KeepTimestamp gives such letters the timestamps of the records that died.
	KeepTimestamp bool `json:"keep_timestamp,omitzero"`
	// Seen is up to where the compacted topics that letters go to were looked through for newer values of their keys.
	Seen map[string]map[int32]int64 `json:"seen,omitzero"`
	// Rewrite is what becomes of the values of a DLQ without a pipeline before they go back; the zero one leaves them as they are.
	Rewrite rewrite.Spec `json:"rewrite,omitzero"`
	// Overtaken counts letters that the filter would have selected if the consumer had not closed them as superseded; a
	// filter that names statuses or ids passes over none.
	Overtaken int `json:"overtaken,omitzero"`
	// Doubt says why Superseded and Overwrites are only a guess, or which topic's settings are not known; empty when all was known.
	Doubt string `json:"doubt,omitzero"`
}

// Alone reports whether the plan is for a DLQ without a pipeline: nobody judged what would become of its letters.
func (h *Head) Alone() bool { return h.MaxReplays > 0 }

// Destination is the topic that letters go to.
func (h *Head) Destination() string {
	if h.To != "" {
		return h.To
	}
	return h.Source
}

// Plan freezes which letters a replay is about. Making one changes nothing; acting on one touches its
// letters and no others.
type Plan struct {
	Head
	Letters  int                  // how many there are
	Checksum string               // "sha256:<64 hex>" of the head and the letters: names the content
	Spans    map[int32]kafka.Span // where in the DLQ they lie
	summary  Summary
	targets  map[string]int
	outlook  outlook
	open     func() (io.ReadCloser, error)
	end      func() error // nil when nothing is to be closed
}

// Close gives up a plan that [Scratch] made; it cannot be read any more. Other plans have nothing to close.
func (p *Plan) Close() error {
	if p.end == nil {
		return nil
	}
	return p.end()
}

// Summary counts what the plan would do and what the transform says of what goes back.
func (p *Plan) Summary() Summary { return p.summary }

// Targets counts the letters that would be put back by the topic that they go to. It is empty in a pipeline's plan, whose letters all go to
// [Head.Destination].
func (p *Plan) Targets() map[string]int { return p.targets }

// Outlook groups the plan by why letters died and what is to be expected now, the most first.
func (p *Plan) Outlook() []Outcome { return p.outlook.sorted() }

// All yields the letters in the order of the DLQ: partition, then offset. An error is yielded last.
func (p *Plan) All() iter.Seq2[*Letter, error] {
	return func(yield func(*Letter, error) bool) {
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
