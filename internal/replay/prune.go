package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// PruneResult describes what a pruning removed, or would remove (S4-7).
type PruneResult struct {
	ID       string                     `json:"id,omitempty"` // of the operation; empty for a dry run
	Before   time.Time                  `json:"before"`       // prunes dead letters that were resolved before this time
	Letters  int                        `json:"dead_letters"` // dead letters removed permanently
	Statuses map[deadletters.Status]int `json:"statuses"`     // of the removed dead letters
	Records  int64                      `json:"records"`      // deleted from the DLQ
	Kept     int                        `json:"kept"`         // resolved before that time, but behind a dead letter that must stay
	Blocks   []Block                    `json:"blocks"`       // dead letters that keep others, at most one for each partition
}

// Block is the first dead letter of a partition that cannot be pruned, if others behind it could.
type Block struct {
	Partition int32              `json:"partition"`
	Offset    int64              `json:"offset"`
	ID        string             `json:"id"`
	Status    deadletters.Status `json:"status"`
	Behind    int                `json:"behind"` // dead letters behind it that could be pruned
}

// PreviewPrune returns what [Service.Prune] would remove. It changes nothing.
func (s *Service) PreviewPrune(ctx context.Context, before time.Time) (PruneResult, error) {
	p, err := s.newPrune(before)
	if err != nil {
		return PruneResult{}, err
	}
	st, err := s.states.Load(ctx)
	if err != nil {
		return PruneResult{}, err
	}
	if err := p.survey(ctx, st); err != nil {
		return PruneResult{}, err
	}
	err = p.each(ctx, st, func(*deadletters.Letter, deadletters.State) error { return nil })
	return p.result, err
}

// Prune removes dead letters that were resolved before a time: their records from the DLQ, and their states from the
// status topic. Nothing can restore them. Kafka deletes only from the beginning of a partition, so an unresolved dead
// letter keeps the records behind it; the result names it in Blocks.
//
// Prune also removes the memory that the content of a dead letter was put back. If the same content dies again, a
// replay puts it back again.
func (s *Service) Prune(ctx context.Context, before time.Time, c operation.Call) (PruneResult, error) {
	if err := c.Check(); err != nil {
		return PruneResult{}, err
	}
	p, err := s.newPrune(before)
	if err != nil {
		return PruneResult{}, err
	}
	if spans, err := s.store.StatusSpans(ctx); err != nil || len(spans) == 0 {
		return p.result, err // no dead letter was ever resolved, and the topic of the lease may not exist yet
	}
	op, err := s.operation("prune", c, deadletters.Filter{Statuses: deadletters.Resolved(), Until: p.result.Before})
	if err != nil {
		return PruneResult{}, err
	}
	p.result.ID = op.ID
	l := s.jobs.NewLease(op)
	ctx, stop := l.Context(ctx)
	defer stop()
	defer l.Release(ctx)
	w, st, err := transaction.Start(ctx, s.writing, &op, l)
	if err != nil {
		return p.result, err
	}
	defer w.Close()
	err = p.remove(ctx, w, st, op, l)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if errors.Is(err, jobs.ErrFenced) {
		_, err = l.Fenced(ctx, err)
	}
	return p.result, err
}

// pruning is one run of Prune.
type pruning struct {
	service *Service
	result  PruneResult
	starts  map[int32]int64
	floors  map[int32]int64     // offset up to which each partition of the DLQ is deleted
	present map[states.Key]bool // dead letters with a record at or after the floor
}

// remove deletes records before states. If it stops in between, the next pruning finds a state without its record. In
// the other order, a dead letter without its state would be pending again.
func (p *pruning) remove(ctx context.Context, w *transaction.Writer, st *states.Table, op operation.Operation, l *jobs.Lease) error {
	if err := p.survey(ctx, st); err != nil {
		return err
	}
	w.AddOperationEvent(op.Started(p.service.now(), p.resolvedOf(st)))
	if err := p.deleteRecords(ctx, w, l); err != nil {
		return err
	}
	if err := p.forget(ctx, w, st, op); err != nil {
		return err
	}
	w.WaitVisible(ctx)
	return nil
}

func (s *Service) newPrune(before time.Time) (*pruning, error) {
	if before.After(s.now()) {
		return nil, fmt.Errorf("%w: resolved before %s: this time is in the future", operation.ErrOptions, before.Format(time.RFC3339))
	}
	return &pruning{
		service: s, starts: map[int32]int64{}, floors: map[int32]int64{}, present: map[states.Key]bool{},
		result: PruneResult{Before: before.UTC(), Statuses: map[deadletters.Status]int{}, Blocks: []Block{}},
	}, nil
}

// KeepResolved returns how long the pipeline keeps resolved dead letters.
func (s *Service) KeepResolved() time.Duration { return s.cfg.DeadLetters.KeepResolved.Std() }

// prunable reports whether a dead letter with this state may be removed.
func (p *pruning) prunable(state deadletters.State, unread string) bool {
	return unread == "" && slices.Contains(deadletters.Resolved(), state.Status) && !state.At.IsZero() && state.At.Before(p.result.Before)
}

// survey finds the first record in each partition of the DLQ whose dead letter must stay.
func (p *pruning) survey(ctx context.Context, st *states.Table) error {
	topic := p.service.cfg.Topics.DLQ
	spans, err := kafka.Spans(ctx, p.service.client, topic)
	if err != nil {
		return err
	}
	for id, span := range spans {
		p.starts[id], p.floors[id] = span.Start, span.End
	}
	blocks := map[int32]*Block{}
	err = p.service.reading().Letters(ctx, p.service.client, topic, spans, func(l *deadletters.Letter) error {
		st.ApplyReported(l)
		state, unread := st.Of(l.ID)
		block := blocks[l.DLQ.Partition]
		if block == nil && !p.prunable(state, unread) {
			block = &Block{Partition: l.DLQ.Partition, Offset: l.DLQ.Offset, ID: l.ID, Status: state.Status}
			blocks[l.DLQ.Partition] = block
			p.floors[l.DLQ.Partition] = l.DLQ.Offset
		}
		if block == nil {
			p.result.Records++
			return nil
		}
		p.present[states.KeyOf(l.ID)] = true
		if p.prunable(state, unread) {
			block.Behind++
			p.result.Kept++
		}
		return nil
	})
	for _, id := range slices.Sorted(maps.Keys(blocks)) {
		if blocks[id].Behind > 0 {
			p.result.Blocks = append(p.result.Blocks, *blocks[id])
		}
	}
	return err
}

// deleteRecords deletes the records before the floor of each partition. Fencing does not stop a deletion by a
// replayer that lost its lease. deleteRecords therefore first commits the event that begins the pruning, which fails
// if another replayer has taken over. It then reads the lease once more, in case another replayer took over while
// this process slept after the commit.
func (p *pruning) deleteRecords(ctx context.Context, w *transaction.Writer, l *jobs.Lease) error {
	topic := p.service.cfg.Topics.DLQ
	offsets := kadm.Offsets{}
	for id, floor := range p.floors {
		if floor > p.starts[id] {
			offsets.AddOffset(topic, id, floor, -1)
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	if _, err := w.Commit(ctx, nil); err != nil {
		return err
	}
	if err := l.Check(ctx); err != nil {
		return err
	}
	answers, err := kadm.NewClient(p.service.client).DeleteRecords(ctx, offsets)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		return fmt.Errorf("delete the records of pruned dead letters from %s: %w", topic, kafka.DeniedTopic("Delete", topic, err))
	}
	return nil
}

// each calls fn once for every prunable dead letter that has a state and no remaining record.
func (p *pruning) each(ctx context.Context, st *states.Table, fn func(*deadletters.Letter, deadletters.State) error) error {
	topic := p.service.cfg.Topics.DLQStatus
	spans, err := p.service.store.StatusSpans(ctx)
	if err != nil {
		return err
	}
	seen := map[states.Key]bool{}
	return deadletters.ScanStates(ctx, p.service.store.Log(), topic, spans, func(r *deadletters.StateRecord) error {
		key := states.KeyOf(r.ID)
		state, unread := st.Of(r.ID)
		if r.ChainHead != nil || r.Removed || seen[key] || p.present[key] || !p.prunable(state, unread) {
			return nil
		}
		seen[key] = true
		p.result.Letters++
		p.result.Statuses[state.Status]++
		return fn(forgotten(r), state)
	})
}

// forgotten returns a dead letter without its record, from its last state.
func forgotten(r *deadletters.StateRecord) *deadletters.Letter {
	l := &deadletters.Letter{ID: r.ID, DLQ: header.Position{Partition: r.At.Partition}, ContentHash: r.State.ContentHash}
	l.Control.Source, l.Control.HasSource = r.State.Source, r.State.Source.Topic != ""
	return l
}

// forget writes a tombstone and an audit event for each removed dead letter.
func (p *pruning) forget(ctx context.Context, w *transaction.Writer, st *states.Table, op operation.Operation) error {
	var batch []*transaction.Change
	commit := func() error {
		if len(batch) == 0 {
			return nil
		}
		refused, err := w.Commit(ctx, batch)
		if err == nil && refused != nil {
			err = errors.New("a tombstone was refused for its size")
		}
		clear(batch)
		batch = batch[:0]
		return err
	}
	err := p.each(ctx, st, func(l *deadletters.Letter, state deadletters.State) error {
		d := &transaction.Change{Letter: l, Prev: state, Gone: true}
		d.SetEvent(&op, audit.StateChanged)
		d.Event.Time = p.service.now()
		batch = append(batch, d)
		if len(batch) < p.service.batchLetters {
			return nil
		}
		return commit()
	})
	if err == nil {
		err = commit()
	}
	return err
}

// resolvedOf counts the prunable dead letters without a record that must stay.
func (p *pruning) resolvedOf(st *states.Table) int {
	n := 0
	for key, state := range st.All() {
		if !p.present[key] && p.prunable(state, "") {
			n++
		}
	}
	return n
}
