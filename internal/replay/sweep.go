package replay

import (
	"context"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// sweep changes chosen letters one after another, in transactions of many, over as many sessions as the broker makes
// necessary. What is done with a letter is said by decide, after every other replayer was fenced.
type sweep struct {
	service *Service
	op      operation
	spots   []spot
	confirm Confirm // nil consents to any number
	decide  func(*standing, *deadletters.Letter) (do *staged, why string, err error)
	result  ChangeResult
	settled int // spots, from the first, that are decided finally
}

// Confirm hears how many letters a change is about, before it changes any. An error of its ends the change, which has changed
// nothing then.
type Confirm func(letters int) error

// ChangeResult says what a change did. After an error it counts what had been committed by then.
type ChangeResult struct {
	ID           string   `json:"id"`       // of the operation, as the audit trail has it; "" when nothing was changed
	Selected     int      `json:"selected"` // letters that the filter chose
	Changed      int      `json:"changed"`
	Left         int      `json:"left"`    // left as they are
	Skipped      []Skip   `json:"skipped"` // the first 1000 of them, each with the reason
	LeftBy       []LeftBy `json:"left_by"` // those left, by reason, the most first
	Transactions int      `json:"transactions"`
	// Overtaken names the first 1000 letters of those changed that had been closed as superseded: only a forced replay
	// lets them take effect.
	Overtaken []string `json:"overtaken,omitempty"`
}

func (c *ChangeResult) skip(s Skip) {
	c.Left++
	c.LeftBy = countLeft(c.LeftBy, s)
	if len(c.Skipped) < maxSkips {
		c.Skipped = append(c.Skipped, s)
	}
}

func (s *Service) sweep(ctx context.Context, w *sweep) (result ChangeResult, err error) {
	w.service = s
	w.result.Selected = len(w.spots)
	defer func() {
		if w.result.Changed > 0 { // else no event of the audit topic has the id
			result.ID = w.op.id
		}
	}()
	if len(w.spots) == 0 {
		return w.result, nil
	}
	if w.confirm != nil {
		if err := w.confirm(len(w.spots)); err != nil {
			return w.result, err
		}
	}
	w.op.lease = s.newLease(w.op)
	err = s.persist(ctx, w.op.lease, w.session, func(error) {})
	w.result.LeftBy = sortedLeft(w.result.LeftBy)
	s.log.Info("dead letters changed", "operation", w.op.word, "id", w.op.id, "changed", w.result.Changed, "left", w.result.Left, "error", err)
	return w.result, err
}

// swept is the part of a sweep that one session does.
type swept struct {
	*sweep
	writer   *writer
	standing *standing
	batch    []staged
	skips    []Skip
	seen     int // spots, from the first, that are staged, skipped or counted
	before   int // letters that an earlier session changed, whose commit was not confirmed
	bytes    int
}

func (w *sweep) session(ctx context.Context) error {
	writer, st, err := w.service.startWriter(ctx, w.op)
	if err != nil {
		return err
	}
	defer writer.close()
	if w.settled == 0 && len(st.own) == 0 { // else a session before this one wrote it, though it did not hear so
		writer.trail.opening = w.service.begin(w.op, len(w.spots))
	}
	run := &swept{sweep: w, writer: writer, standing: st, seen: w.settled}
	err = w.service.letters(ctx, w.spots[w.settled:], func(_ int, l *deadletters.Letter) error { return run.take(ctx, l) })
	if err == nil {
		err = run.commit(ctx)
	}
	if err == nil {
		writer.settle(ctx)
	}
	return err
}

func (w *swept) take(ctx context.Context, l *deadletters.Letter) error {
	if l == nil {
		w.seen++
		w.skips = append(w.skips, Skip{Why: "its record is gone: retention took it"})
		return nil
	}
	if was, changed := w.standing.own[keyOf(l.ID)]; changed {
		w.seen++
		w.before++
		w.overtaken(was, l.ID)
		return nil
	}
	w.standing.hear(l)
	do, why, err := w.decide(w.standing, l)
	if err != nil {
		return err
	}
	if do != nil && len(w.batch) > 0 && w.bytes+l.Held() > batchBytes {
		if err := w.commit(ctx); err != nil {
			return err
		}
	}
	w.seen++
	if do == nil {
		w.skips = append(w.skips, Skip{ID: l.ID, Why: why})
	} else {
		w.batch = append(w.batch, *do)
		w.bytes += l.Held()
		w.standing.set(do.next)
	}
	if len(w.batch) >= batchLetters || len(w.skips) >= maxSkips {
		return w.commit(ctx)
	}
	return nil
}

// commit writes what is staged. A letter that its topic refuses for its size is left.
func (w *swept) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for len(w.batch) > 0 {
		refused, err := w.writer.commit(ctx, w.batch)
		if err != nil {
			return err
		}
		if refused == nil {
			w.result.Transactions++
			break
		}
		w.drop(refused)
	}
	w.result.Changed += len(w.batch) + w.before
	for i := range w.batch {
		w.overtaken(w.batch[i].prev.Status, w.batch[i].letter.ID)
	}
	for _, s := range w.skips {
		w.result.skip(s)
	}
	w.settled = w.seen
	clear(w.batch)
	w.batch, w.skips, w.bytes, w.before = w.batch[:0], w.skips[:0], 0, 0
	return nil
}

// overtaken notes a letter that was closed as superseded before it was changed.
func (w *swept) overtaken(was deadletters.Status, id string) {
	if was == deadletters.Superseded && len(w.result.Overtaken) < maxSkips && !slices.Contains(w.result.Overtaken, id) {
		w.result.Overtaken = append(w.result.Overtaken, id)
	}
}

func (w *swept) drop(refused *staged) {
	w.skips = append(w.skips, Skip{ID: refused.letter.ID, Why: "the topic refuses it: it is larger than the topic's max.message.bytes"})
	var rest []staged
	for i := range w.batch {
		if w.batch[i].letter != refused.letter {
			rest = append(rest, w.batch[i])
		}
	}
	w.batch = rest
}
