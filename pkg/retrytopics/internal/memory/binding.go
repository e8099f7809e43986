package memory

import (
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Binding has the topics and the group that a partition's memory must belong to.
type Binding struct {
	Group    string
	Pipeline string // ID in the control headers
	Source   string
	State    string           // topic
	Ledger   string           // topic; "" without deduplication
	Scale    statetopic.Scale // of versions
	IDs      map[string]statetopic.TopicID
}

// Evidence is the content of a partition's memory and commits, from which mismatches are found.
type Evidence struct {
	Checkpoint *statetopic.Checkpoint // nil if there is none
	Committed  bool                   // the group has a commit of the source topic
	Sealed     bool                   // a commit was made with a checkpoint
	Remembers  bool                   // state or ledger have keys
}

// Mismatches returns all mismatches of a partition's memory. It is pure.
func (b *Binding) Mismatches(known Evidence) []retrytopics.Mismatch {
	cp := known.Checkpoint
	switch {
	case cp == nil && known.Sealed:
		return []retrytopics.Mismatch{mismatch(retrytopics.MismatchState, b.State, "", b.Group)}
	case cp == nil && known.Remembers && !known.Committed:
		return []retrytopics.Mismatch{mismatch(retrytopics.MismatchUnbound, b.Source, "", b.Group)}
	case cp == nil:
		return nil
	}
	var all []retrytopics.Mismatch
	if cp.Group != b.Group {
		all = append(all, mismatch(retrytopics.MismatchGroup, b.State, cp.Group, b.Group))
	}
	for _, topic := range slices.Sorted(maps.Keys(cp.Positions)) {
		id, known := b.IDs[topic]
		if !known || !cp.Positions[topic].ID.Differs(id) {
			continue
		}
		kind := retrytopics.MismatchTier
		if topic == b.Source {
			kind = retrytopics.MismatchSource
		}
		all = append(all, mismatch(kind, topic, cp.Positions[topic].ID.String(), id.String()))
	}
	if id := b.IDs[b.Ledger]; b.Ledger != "" && cp.Ledger.Differs(id) {
		all = append(all, mismatch(retrytopics.MismatchLedger, b.Ledger, cp.Ledger.String(), id.String()))
	}
	return all
}

// Next returns the checkpoint that follows cp, nil at first, with the marks of a transaction. It is pure.
func (b *Binding) Next(cp *statetopic.Checkpoint, marks map[string]offsets.Commit) *statetopic.Checkpoint {
	next := &statetopic.Checkpoint{Group: b.Group, Source: b.Source, Ledger: b.IDs[b.Ledger], Scale: b.Scale, Positions: map[string]statetopic.Position{}}
	if cp != nil {
		next.Generation, next.Same, next.LedgerFrom, next.ScaleFrom = cp.Generation, cp.Same, cp.LedgerFrom, cp.ScaleFrom
		next.Pipelines, next.Shared = cp.Pipelines, cp.Shared
		maps.Copy(next.Positions, cp.Positions)
		if b.Ledger == "" {
			next.Ledger, next.Scale = cp.Ledger, cp.Scale
		}
	}
	if b.Pipeline != "" && !slices.Contains(next.Pipelines, b.Pipeline) {
		next.Pipelines = append(slices.Clone(next.Pipelines), b.Pipeline)
		next.Pipelines = next.Pipelines[max(0, len(next.Pipelines)-statetopic.MaxPipelines):]
	}
	if _, known := next.Positions[b.Source]; !known {
		next.Positions[b.Source] = statetopic.Position{ID: b.IDs[b.Source], Commit: offsets.Commit{Offset: -1}}
	}
	for topic, m := range marks {
		next.Positions[topic] = statetopic.Position{ID: b.IDs[topic], Commit: m}
	}
	return next
}

// Committed is what the commits of a partition state about the generations of its source topic.
type Committed struct {
	offsets.Generations
	// Source is true if a commit of the source topic itself has the seal. Brokers delete a topic's commits with the
	// topic, so it is still the same topic.
	Source bool
}

func mismatch(kind retrytopics.MismatchKind, topic, remembered, now string) retrytopics.Mismatch {
	return retrytopics.Mismatch{Kind: kind, Topic: topic, Remembered: remembered, Now: now}
}

// has reports whether all contains a mismatch of a kind.
func has(all []retrytopics.Mismatch, kind retrytopics.MismatchKind) bool {
	return slices.ContainsFunc(all, func(m retrytopics.Mismatch) bool { return m.Kind == kind })
}

// Adopt returns the checkpoint from which a partition starts again. marks are the group's commits, ledgerEnd is the
// current end of its ledger partition. It is pure.
func (b *Binding) Adopt(cp *statetopic.Checkpoint, all []retrytopics.Mismatch, marks map[string]offsets.Commit, was Committed, ledgerEnd int64) *statetopic.Checkpoint {
	if cp == nil { // only the commits are left, and the topics they belong to are unknown
		cp = b.Next(&statetopic.Checkpoint{Generation: was.Now, Same: was.Same}, marks)
	}
	next := b.Next(cp, nil)
	if has(all, retrytopics.MismatchLedger) {
		next.LedgerFrom, next.ScaleFrom = 0, 0
	}
	if has(all, retrytopics.MismatchSource) || has(all, retrytopics.MismatchState) || has(all, retrytopics.MismatchUnbound) {
		next.Generation++ // events from now on are newer than everything in the memory
		next.Same++
		if !has(all, retrytopics.MismatchState) || !was.Source {
			next.Same = 0
		}
	}
	if has(all, retrytopics.MismatchSource) || has(all, retrytopics.MismatchUnbound) {
		next.LedgerFrom = ledgerEnd
	}
	for topic, p := range cp.Positions {
		if id, known := b.IDs[topic]; known && p.ID.Differs(id) {
			next.Positions[topic] = statetopic.Position{ID: id, Commit: offsets.Commit{Offset: -1}}
		}
	}
	return next
}

// Loosened returns new states for the keys that wait in strict order when a retry topic is lost: the record whose turn
// it is may be gone. The remaining records are ordered by their versions.
func (p *Partition) Loosened(all []retrytopics.Mismatch) map[string]keyorder.State {
	if !has(all, retrytopics.MismatchTier) {
		return nil
	}
	keys := map[string]keyorder.State{}
	for k, st := range p.base {
		if st.Waits() {
			keys[k] = st.Loosen()
		}
	}
	return keys
}
