package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// Adoption says what adopting the topics as they are now means for the memory. Engine.PlanAdoption makes one,
// Engine.Adopt carries it out.
type Adoption struct {
	Mismatches []Mismatch `json:"mismatches"` // each once, whatever the number of partitions; none: there is nothing to adopt
	Partitions int        `json:"partitions"` // in which something does not fit
	// Forgotten is the number of keys of which the ledger forgets what took effect last. Their next event is no duplicate
	// and not superseded.
	Forgotten int `json:"forgotten_keys"`
	// Kept is the number of keys of the state topic that keep their order: a record of theirs waits or is dead.
	Kept int `json:"kept_keys"`
	// Versions is the number of keys of which the newest version stays known, where versions are kept (Ordering.Versions). An
	// older one of theirs is superseded, also in a topic that was re-created; an equal one takes effect again.
	Versions int `json:"kept_versions"`
	// Waiting is an upper bound of the records in the tiers; they are still delivered. Letters is one of the dead letters,
	// which stay as they are.
	Waiting     int64 `json:"waiting"`
	DeadLetters int64 `json:"dead_letters"`

	shards []adopted
	group  string // former group, when it was another one
}

// adopted is what becomes of one partition.
type adopted struct {
	partition  int32
	mismatches []Mismatch
	next       *checkpoint
	loosened   map[string]keyorder.State // keys that cannot wait for their turn any more
}

// PlanAdoption reads the memory of every partition and says what does not fit, and what Adopt would do. It changes nothing. Records
// of an open transaction are waited for.
func (e *Engine) PlanAdoption(ctx context.Context) (*Adoption, error) {
	adm, err := e.admin()
	if err != nil {
		return nil, fmt.Errorf("plan adoption: %w", err)
	}
	defer adm.Close()
	a, err := e.planAdoption(ctx, adm)
	if err != nil {
		return nil, fmt.Errorf("plan adoption: %w", err)
	}
	return a, nil
}

func (e *Engine) planAdoption(ctx context.Context, adm *kadm.Client) (*Adoption, error) {
	layout, err := e.inspect(ctx, adm)
	if err != nil {
		return nil, err
	}
	if !layout.states {
		return nil, fmt.Errorf("%w: there is no state topic %s with %d partitions, so there is no memory to adopt", ErrTopics, e.cfg.Ordering.StateTopic, layout.partitions)
	}
	s := e.unconnected(ctx, layout.maxMetadata)
	defer s.stopWork()
	s.adm, s.layout = adm, layout
	states := map[int32]*partitionState{}
	for p := range int32(layout.partitions) {
		states[p] = e.newState(p)
	}
	err = s.replay(ctx, e.cfg.Ordering.StateTopic, time.Time{}, states, func(sh *partitionState, r *kgo.Record) error { return sh.restoreState(r, e.cfg.scale()) })
	if err != nil {
		return nil, err
	}
	committed, err := adm.FetchOffsets(ctx, e.cfg.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // its offsets expired besides: it has no commits
		return nil, fmt.Errorf("offsets of group %s: %w", e.cfg.Group, e.denial("Describe", "group "+e.cfg.Group, err))
	}
	ledgers, err := s.ledgers(ctx, states)
	if err != nil {
		return nil, err
	}
	a := &Adoption{}
	now := e.expectedTopics(layout)
	for p := range int32(layout.partitions) {
		sh := states[p]
		marks, was, sealed := commitsOf(committed, p, e.cfg.Source)
		_, moved := marks[e.cfg.Source]
		all := now.mismatches(sh.evidence(evidence{sealed: sealed, committed: moved}))
		if len(all) == 0 {
			continue
		}
		next := now.adopt(sh.checkpoint, all, marks, was, ledgers[p])
		if next.generation > offsets.MaxGeneration {
			return nil, fmt.Errorf("the source topic was adopted %d times, and there is no room for more: give the pipeline new topics", offsets.MaxGeneration)
		}
		a.add(all, adopted{p, all, next, sh.loosened(all)})
		a.Kept += len(sh.base)
		a.Versions += sh.latest.size()
		if sh.ledger != nil && next.ledgerFrom > sh.forgotten(e.cfg.Dedupe.LedgerTopic, e.cfg.Dedupe.LedgerTopic) {
			a.Forgotten += sh.ledger.Len()
		}
	}
	if len(a.shards) == 0 {
		return a, nil
	}
	return a, s.countAdoption(ctx, a, committed)
}

// add notes what does not fit in one partition.
func (a *Adoption) add(all []Mismatch, sh adopted) {
	for _, m := range all {
		if !slices.Contains(a.Mismatches, m) {
			a.Mismatches = append(a.Mismatches, m)
		}
		if m.Kind == MismatchGroup {
			a.group = m.Remembered
		}
	}
	a.shards = append(a.shards, sh)
	a.Partitions++
}

// has says whether something of a kind does not fit.
func has(all []Mismatch, kind MismatchKind) bool {
	return slices.ContainsFunc(all, func(m Mismatch) bool { return m.Kind == kind })
}

// adopt gives the checkpoint with which a partition begins again, marks being the group's commits and ledgerEnd where its ledger
// ends now. It is pure.
func (now expectedTopics) adopt(cp *checkpoint, all []Mismatch, marks map[string]offsets.Commit, was committedGeneration, ledgerEnd int64) *checkpoint {
	if cp == nil { // the commits are all that is left, and what they belong to is not known
		cp = now.next(&checkpoint{generation: was.Now, same: was.Same}, marks)
	}
	next := now.next(cp, nil)
	if has(all, MismatchLedger) {
		next.ledgerFrom, next.scaleFrom = 0, 0
	}
	if has(all, MismatchSource) || has(all, MismatchState) || has(all, MismatchUnbound) {
		next.generation++ // what comes now is newer than all that is remembered
		next.same++
		if !has(all, MismatchState) || !was.source {
			next.same = 0
		}
	}
	if has(all, MismatchSource) || has(all, MismatchUnbound) {
		next.ledgerFrom = ledgerEnd
	}
	for topic, p := range cp.positions {
		if id, known := now.ids[topic]; known && p.id.differs(id) {
			next.positions[topic] = topicPosition{id, offsets.Commit{Offset: -1}}
		}
	}
	return next
}

// loosened gives the new states of the keys that wait in strict order when a tier is lost: the record whose turn it is may
// be gone. What is left is held to its version.
func (sh *partitionState) loosened(all []Mismatch) map[string]keyorder.State {
	if !has(all, MismatchTier) {
		return nil
	}
	keys := map[string]keyorder.State{}
	for k, st := range sh.base {
		if st.Waits() {
			keys[k] = st.Loosen()
		}
	}
	return keys
}

// committedGeneration is what the commits of a partition say of the generations of its source topic.
type committedGeneration struct {
	offsets.Generations
	// source: a commit of the source topic itself says so. Brokers delete a topic's commits with the topic, so it is the same one.
	source bool
}

// commitsOf gives the commits of a partition, by topic, and what their seals say.
func commitsOf(committed kadm.OffsetResponses, partition int32, source string) (marks map[string]offsets.Commit, was committedGeneration, sealed bool) {
	marks = map[string]offsets.Commit{}
	first := 0
	for topic, partitions := range committed {
		c, ok := partitions[partition]
		if !ok || c.At < 0 {
			continue
		}
		text, g, isSealed := offsets.Unseal(c.Metadata)
		marks[topic] = offsets.Commit{Offset: c.At, Metadata: text}
		was.Now, sealed = max(was.Now, g.Now), sealed || isSealed
		if topic == source && isSealed {
			was.source, first = true, g.First()
		}
	}
	if was.source {
		was.Same = was.Now - first
	}
	return marks, was, sealed
}

// ledgers restores the partitions' ledgers and gives where each partition of the ledger ends.
func (s *session) ledgers(ctx context.Context, states map[int32]*partitionState) (map[int32]int64, error) {
	d, ends := s.e.cfg.Dedupe, map[int32]int64{}
	if !d.on() {
		return ends, nil
	}
	if err := s.restoreLedgers(ctx, states, time.Now()); err != nil {
		return nil, err
	}
	listed, err := s.adm.ListEndOffsets(ctx, d.LedgerTopic)
	if err != nil {
		return nil, fmt.Errorf("end of %s: %w", d.LedgerTopic, err)
	}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, listed.Error()
}

// countAdoption counts what waits and what is dead, from the offsets.
func (s *session) countAdoption(ctx context.Context, a *Adoption, committed kadm.OffsetResponses) error {
	topics := s.e.topics()[1:]
	starts, err := s.adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return err
	}
	ends, err := s.adm.ListEndOffsets(ctx, topics...)
	if err != nil {
		return err
	}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		n := end.Offset - start.Offset
		if end.Topic == s.e.cfg.DLQ {
			a.DeadLetters += n
			return
		}
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok && c.At > start.Offset {
			n = end.Offset - c.At
		}
		a.Waiting += max(n, 0)
	})
	return errors.Join(starts.Error(), ends.Error())
}
