package replay

import (
	"slices"
)

// batch is what one transaction is about: letters that were looked at, decided and encoded. Nothing of it is sent yet.
type batch struct {
	looked  int // letters of the plan
	staged  []staged
	skips   []Skip
	already int
	bytes   int
	sends   int  // letters that go back
	last    bool // no letter of the plan is behind it
	encoded *encoded
}

// limits bounds a batch.
type limits struct {
	letters int
	sends   int // 0 is no bound
}

func (b *batch) full(most limits) bool {
	return len(b.staged) >= most.letters || len(b.skips) >= maxSkips || most.sends > 0 && b.sends >= most.sends
}

// prepare looks at the next letters of the plan, on the ground that all that was prepared before will be committed.
func (r *run) prepare(most limits) (*batch, error) {
	b := &batch{staged: make([]staged, 0, most.letters)}
	for !b.full(most) {
		l, err := r.walk.next()
		if err != nil {
			return nil, err
		}
		if l.plan == nil {
			b.last = true
			break
		}
		if len(b.staged) > 0 && b.bytes+l.size() > batchBytes {
			r.walk.back(l)
			break
		}
		b.looked++
		if err := r.take(b, l); err != nil {
			return nil, err
		}
	}
	return b, r.encode(b)
}

// take decides on one letter and takes it into a batch.
func (r *run) take(b *batch, l spotted) error {
	if l.letter == nil {
		at := l.plan.DLQ(r.job.plan.DLQ)
		b.skips = append(b.skips, Skip{ID: l.plan.ID, Why: "its record " + at.String() + " is gone: retention took it"})
		return nil
	}
	do, err := r.decide(&l)
	switch {
	case err != nil:
		return err
	case do.already:
		b.already++
	case do.why != "":
		b.skips = append(b.skips, Skip{ID: l.plan.ID, Why: do.why})
	default:
		b.staged = append(b.staged, do.staged)
		b.bytes += l.size()
		r.standing.set(do.next)
		if do.sends {
			b.sends++
			r.standing.hold(do.next) // also what goes to another topic and is closed here
		}
	}
	return nil
}

// encode makes the records of a batch, behind those of all that was prepared before.
func (r *run) encode(b *batch) (err error) {
	b.encoded, err = r.job.service.encode(b.staged, r.trail)
	if err == nil {
		r.trail = b.encoded.trail
	}
	return err
}

// undo takes back what a batch, the last one prepared, changed in what is known of letters.
func (r *run) undo(b *batch) {
	for _, d := range slices.Backward(b.staged) {
		r.standing.set(d.prev)
	}
}

// again decides once more on the letters of a batch that was undone.
func (r *run) again(b *batch) error {
	before := b.staged
	b.staged, b.bytes, b.sends = nil, 0, 0
	for _, d := range before {
		if err := r.take(b, spotted{plan: d.plan, letter: d.letter}); err != nil {
			return err
		}
	}
	return r.encode(b)
}

// drop takes a refused letter out of a batch.
func (r *run) drop(b *batch, refused *staged) {
	why := "the topic refuses it: with the headers of a replay it is larger than the topic's max.message.bytes"
	if refused.sends {
		b.sends--
	}
	r.standing.set(refused.prev)
	l := refused.letter // refused lies in what is moved now
	b.skips = append(b.skips, Skip{ID: l.ID, Why: why})
	b.staged = slices.DeleteFunc(b.staged, func(d staged) bool { return d.letter == l })
}
