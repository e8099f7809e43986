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
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// PruneResult says what pruning removes, or would remove (S4-7).
type PruneResult struct {
	ID       string                     `json:"id,omitempty"` // of the operation; empty for a dry run
	Before   time.Time                  `json:"before"`       // letters that were resolved before this
	Letters  int                        `json:"letters"`      // forgotten permanently
	Statuses map[deadletters.Status]int `json:"statuses"`     // of these letters
	Records  int64                      `json:"records"`      // deleted from the DLQ
	Kept     int                        `json:"kept"`         // resolved long enough ago, but behind a letter that is not
	Blocks   []Block                    `json:"blocks"`       // what they are behind, at most one for each partition
}

// Block is the first letter of a partition that cannot be pruned, when others behind it could.
type Block struct {
	Partition int32              `json:"partition"`
	Offset    int64              `json:"offset"`
	ID        string             `json:"id"`
	Status    deadletters.Status `json:"status"`
	Behind    int                `json:"behind"` // letters that could be pruned without it
}

// PreviewPrune says what [Service.Prune] would remove. Nothing is changed.
func (s *Service) PreviewPrune(ctx context.Context, before time.Time) (PruneResult, error) {
	p, err := s.newPrune(before)
	if err != nil {
		return PruneResult{}, err
	}
	st, err := s.loadStanding(ctx)
	if err != nil {
		return PruneResult{}, err
	}
	if err := p.survey(ctx, st); err != nil {
		return PruneResult{}, err
	}
	err = p.each(ctx, st, func(*deadletters.Letter, deadletters.State) error { return nil })
	return p.result, err
}

// Prune forgets letters that were resolved before a time: their records leave the DLQ, their states the
// status topic. It cannot be taken back. Kafka deletes only from the beginning of a partition, so a letter that is not
// resolved keeps what lies behind it; Blocks names these.
//
// With a letter goes the memory that its content was put back: the same content, dead once more, would be put back
// once more.
func (s *Service) Prune(ctx context.Context, before time.Time, c Call) (PruneResult, error) {
	if err := c.check(); err != nil {
		return PruneResult{}, err
	}
	p, err := s.newPrune(before)
	if err != nil {
		return PruneResult{}, err
	}
	if spans, err := s.statusSpans(ctx); err != nil || len(spans) == 0 {
		return p.result, err // no dead letter was ever resolved, and there may be no topic for the lease yet
	}
	op, err := s.operation("prune", c, deadletters.Filter{Statuses: deadletters.Resolved(), Until: p.result.Before})
	if err != nil {
		return PruneResult{}, err
	}
	p.result.ID = op.id
	op.lease = s.newLease(op)
	ctx, op.lease.end = context.WithCancelCause(ctx)
	defer op.lease.end(nil)
	defer op.lease.release(ctx)
	w, st, err := s.startWriter(ctx, op)
	if err != nil {
		return p.result, err
	}
	defer w.close()
	err = p.remove(ctx, w, st, op)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if errors.Is(err, ErrFenced) {
		_, err = op.lease.fenced(ctx, err)
	}
	return p.result, err
}

// pruning is one pruning.
type pruning struct {
	service *Service
	result  PruneResult
	starts  map[int32]int64
	floors  map[int32]int64 // up to where each partition of the DLQ can go
	present map[idKey]bool  // letters that have a record from the floor on
}

// remove deletes records before states: a state without its letter is found by the next pruning, a letter without its state would be
// pending again.
func (p *pruning) remove(ctx context.Context, w *writer, st *standing, op operation) error {
	if err := p.survey(ctx, st); err != nil {
		return err
	}
	w.trail.own = p.service.begin(op, p.resolvedOf(st))
	if err := p.deleteRecords(ctx, w, op.lease); err != nil {
		return err
	}
	if err := p.forget(ctx, w, st, op); err != nil {
		return err
	}
	w.settle(ctx)
	return nil
}

func (s *Service) newPrune(before time.Time) (*pruning, error) {
	if before.After(s.now()) {
		return nil, fmt.Errorf("%w: resolved before %s: that has not come yet", ErrOptions, before.Format(time.RFC3339))
	}
	return &pruning{
		service: s, starts: map[int32]int64{}, floors: map[int32]int64{}, present: map[idKey]bool{},
		result: PruneResult{Before: before.UTC(), Statuses: map[deadletters.Status]int{}, Blocks: []Block{}},
	}, nil
}

// KeepResolved is how long the pipeline keeps letters for which nothing is left to do.
func (s *Service) KeepResolved() time.Duration { return s.cfg.DeadLetters.KeepResolved.Std() }

// prunable reports whether a letter may go.
func (p *pruning) prunable(state deadletters.State, unread string) bool {
	return unread == "" && slices.Contains(deadletters.Resolved(), state.Status) && !state.At.IsZero() && state.At.Before(p.result.Before)
}

// survey finds, for each partition of the DLQ, the first record whose letter has to stay.
func (p *pruning) survey(ctx context.Context, st *standing) error {
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
		st.hear(l)
		state, unread := st.of(l.ID)
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
		p.present[keyOf(l.ID)] = true
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

// deleteRecords deletes the records in front of each partition's floor. No fence keeps a replayer that was taken over from that. So the
// transaction that writes how the pruning began shows first that nobody has changed a state since they were read, and a last look at the
// lease that nobody took over while this process slept in that transaction.
func (p *pruning) deleteRecords(ctx context.Context, w *writer, l *lease) error {
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
	if _, err := w.commit(ctx, nil); err != nil {
		return err
	}
	now, err := l.read(ctx)
	if err != nil {
		return err
	}
	if l.state.isOthers(now) {
		return l.refused(now)
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

// each calls fn for every letter that has a state but no record any more, once.
func (p *pruning) each(ctx context.Context, st *standing, fn func(*deadletters.Letter, deadletters.State) error) error {
	topic := p.service.cfg.Topics.DLQStatus
	spans, err := p.service.statusSpans(ctx)
	if err != nil {
		return err
	}
	seen := map[idKey]bool{}
	return deadletters.ScanStates(ctx, p.service.logOf(), topic, spans, func(r *deadletters.StateRecord) error {
		key := keyOf(r.ID)
		state, unread := st.of(r.ID)
		if r.ChainHead != nil || r.Removed || seen[key] || p.present[key] || !p.prunable(state, unread) {
			return nil
		}
		seen[key] = true
		p.result.Letters++
		p.result.Statuses[state.Status]++
		return fn(forgotten(r), state)
	})
}

// forgotten is what is still known of a letter: what its last states say.
func forgotten(r *deadletters.StateRecord) *deadletters.Letter {
	l := &deadletters.Letter{ID: r.ID, DLQ: header.Position{Partition: r.At.Partition}, ContentHash: r.State.ContentHash}
	l.Control.Source, l.Control.HasSource = r.State.Source, r.State.Source.Topic != ""
	return l
}

// forget writes tombstones for the states of the letters that are gone, each with its audit event.
func (p *pruning) forget(ctx context.Context, w *writer, st *standing, op operation) error {
	var batch []staged
	commit := func() error {
		if len(batch) == 0 {
			return nil
		}
		refused, err := w.commit(ctx, batch)
		if err == nil && refused != nil {
			err = errors.New("a tombstone was refused for its size")
		}
		clear(batch)
		batch = batch[:0]
		return err
	}
	err := p.each(ctx, st, func(l *deadletters.Letter, state deadletters.State) error {
		d := staged{letter: l, prev: state, gone: true}
		d.event = p.service.event(op, &d, audit.StateChanged)
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

// resolvedOf counts the letters that are old enough and have no record that has to stay.
func (p *pruning) resolvedOf(st *standing) int {
	n := 0
	for key, m := range st.marks {
		state := deadletters.State{Status: m.last.Status(), At: m.time()}
		if !p.present[key] && p.prunable(state, "") {
			n++
		}
	}
	return n
}
