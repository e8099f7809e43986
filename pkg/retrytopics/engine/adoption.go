package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Adoption describes what it means for the memory to adopt the topics as they are now. Engine.PlanAdoption makes one,
// Engine.Adopt carries it out.
type Adoption struct {
	Mismatches []retrytopics.Mismatch `json:"mismatches"` // each once, whatever the number of partitions; empty if there is nothing to adopt
	Partitions int                    `json:"partitions"` // with at least one mismatch
	// Forgotten counts the keys whose last event the ledger forgets. Their next event is neither a duplicate nor
	// superseded.
	Forgotten int `json:"forgotten_keys"`
	// Kept counts the keys of the state topic that keep their order, because a record of the key waits or is a dead
	// letter.
	Kept int `json:"kept_keys"`
	// Versions counts the keys whose newest version stays known, where versions are kept (Ordering.Versions). An older
	// event of such a key is superseded, also in a re-created topic; an equal one takes effect again.
	Versions int `json:"kept_versions"`
	// Waiting is an upper bound of the records in the retry topics; they are still delivered. DeadLetters is an upper
	// bound of the dead letters, which do not change.
	Waiting     int64 `json:"waiting"`
	DeadLetters int64 `json:"dead_letters"`

	states []adopted
	group  string // former group, if it was another one
}

// adopted is the outcome of an adoption for one partition.
type adopted struct {
	partition  int32
	mismatches []retrytopics.Mismatch
	next       *statetopic.Checkpoint
	loosened   map[string]keyorder.State // keys that no longer wait for their turn
}

// PlanAdoption reads the memory of every partition and returns its mismatches and what Adopt would do. It changes
// nothing. It waits for open transactions to end.
func (e *Engine) PlanAdoption(ctx context.Context) (*Adoption, error) {
	adm, err := e.in.Access.Admin()
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
	layout, err := e.in.Cluster.Inspect(ctx, adm, e.in.Health.WasHealthy())
	if err != nil {
		return nil, err
	}
	if !layout.States {
		return nil, fmt.Errorf("%w: there is no state topic %s with %d partitions, so there is no memory to adopt", ErrTopics, e.in.Cfg.Ordering.StateTopic, layout.Partitions)
	}
	states := map[int32]*partition.State{}
	for p := range int32(layout.Partitions) {
		states[p] = partition.NewState(e.in, p)
	}
	err = partition.Replay(ctx, e.in, adm, e.in.Cfg.Ordering.StateTopic, time.Time{}, states, (*partition.State).RestoreState)
	if err != nil {
		return nil, err
	}
	committed, err := adm.FetchOffsets(ctx, e.in.Cfg.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // the group's offsets expired too: it has no commits
		return nil, fmt.Errorf("offsets of group %s: %w", e.in.Cfg.Group, e.in.Denial("Describe", "group "+e.in.Cfg.Group, err))
	}
	ledgers, err := e.ledgers(ctx, adm, states)
	if err != nil {
		return nil, err
	}
	a := &Adoption{}
	binding := partition.BindingOf(e.in, layout)
	for p := range int32(layout.Partitions) {
		state := states[p]
		marks, was, sealed := commitsOf(committed, p, e.in.Cfg.Source)
		_, moved := marks[e.in.Cfg.Source]
		all := binding.Mismatches(state.Evidence(memory.Evidence{Sealed: sealed, Committed: moved}))
		if len(all) == 0 {
			continue
		}
		next := binding.Adopt(state.Checkpoint, all, marks, was, ledgers[p])
		if next.Generation > offsets.MaxGeneration {
			return nil, fmt.Errorf("the source topic was adopted %d times, and there is no room for more: give the pipeline new topics", offsets.MaxGeneration)
		}
		a.add(adopted{p, all, next, state.Memory.Loosened(all)})
		size := state.Memory.Size()
		a.Kept += size.Orders
		a.Versions += size.Versions
		if next.LedgerFrom > state.Forgotten(e.in.Cfg.Dedupe.LedgerTopic, e.in.Cfg.Dedupe.LedgerTopic) {
			a.Forgotten += size.Ledger
		}
	}
	if len(a.states) == 0 {
		return a, nil
	}
	return a, e.countAdoption(ctx, adm, a, committed)
}

// add records the mismatches of one partition.
func (a *Adoption) add(state adopted) {
	for _, m := range state.mismatches {
		if !slices.Contains(a.Mismatches, m) {
			a.Mismatches = append(a.Mismatches, m)
		}
		if m.Kind == retrytopics.MismatchGroup {
			a.group = m.Remembered
		}
	}
	a.states = append(a.states, state)
	a.Partitions++
}

// commitsOf returns the commits of a partition by topic, and the content of their seals.
func commitsOf(committed kadm.OffsetResponses, partition int32, source string) (marks map[string]offsets.Commit, was memory.Committed, sealed bool) {
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
			was.Source, first = true, g.First()
		}
	}
	if was.Source {
		was.Same = was.Now - first
	}
	return marks, was, sealed
}

// ledgers restores the partitions' ledgers and returns the end offset of each ledger partition.
func (e *Engine) ledgers(ctx context.Context, adm *kadm.Client, states map[int32]*partition.State) (map[int32]int64, error) {
	d, ends := e.in.Cfg.Dedupe, map[int32]int64{}
	if !d.On() {
		return ends, nil
	}
	if err := partition.RestoreLedgers(ctx, e.in, adm, states, time.Now()); err != nil {
		return nil, err
	}
	listed, err := adm.ListEndOffsets(ctx, d.LedgerTopic)
	if err != nil {
		return nil, fmt.Errorf("end of %s: %w", d.LedgerTopic, err)
	}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, listed.Error()
}

// countAdoption counts waiting records and dead letters by their offsets.
func (e *Engine) countAdoption(ctx context.Context, adm *kadm.Client, a *Adoption, committed kadm.OffsetResponses) error {
	written := e.in.Cluster.Records()[1:]
	starts, err := adm.ListStartOffsets(ctx, written...)
	if err != nil {
		return err
	}
	ends, err := adm.ListEndOffsets(ctx, written...)
	if err != nil {
		return err
	}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		n := end.Offset - start.Offset
		if end.Topic == e.in.Cfg.DLQ {
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
