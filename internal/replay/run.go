package replay

import (
	"context"
	"fmt"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// run is the part of a job that one session does. One goroutine owns it, and lends walk, standing and trail to the
// batch that is being prepared ahead.
type run struct {
	job      *job
	writer   *writer
	wave     wave
	walk     *walk
	standing *standing // as of the fencing, plus what was prepared
	trail    *trail    // behind all that was prepared
	ahead    *ahead    // nil when nothing is prepared ahead
}

// ahead is a batch that is being prepared.
type ahead struct {
	done  chan struct{} // closed when the rest is there
	batch *batch
	err   error
}

// pass is one of the two times that a replay goes over its plan. A letter is closed as the duplicate of another one only when
// that one has been put back, and that may lie behind it.
type pass bool

const (
	sending pass = false // what goes back, and what is left
	closing pass = true  // duplicates
)

func (p pass) of(l *plan.Letter) bool { return (l.Do == plan.Duplicate) == bool(p) }

// before counts the letters of the passes before.
func (p pass) before(of *plan.Plan) int {
	if p == sending {
		return 0
	}
	return of.Letters - of.Summary().Duplicates
}

// both goes over what is left of the plan.
func (r *run) both(ctx context.Context) error {
	if r.job.settled < closing.before(r.job.plan) {
		if err := r.all(ctx, sending); err != nil {
			return err
		}
	}
	if r.job.plan.Summary().Duplicates == 0 {
		return nil
	}
	return r.all(ctx, closing)
}

// all settles what is left of a pass, batch after batch. While one is on its way to the broker, the next is prepared:
// what it decides holds once the one before is committed, and is forgotten with the session when that fails.
func (r *run) all(ctx context.Context, pass pass) (err error) {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.walk, err = r.job.walk(reading, pass); err != nil {
		return err
	}
	defer r.walk.stop()
	defer r.join() // before the walk ends under it
	defer cancel()
	r.trail = r.writer.trail
	for {
		b, err := r.next()
		if ctx.Err() != nil {
			return r.stopped(ctx.Err())
		}
		if err != nil {
			return err
		}
		if err := r.commit(ctx, b); err != nil || b.last {
			return err
		}
	}
}

// next gives the batch that was prepared ahead, or prepares one.
func (r *run) next() (*batch, error) {
	if r.ahead == nil {
		return r.prepare(r.limits())
	}
	r.join()
	b, err := r.ahead.batch, r.ahead.err
	r.ahead = nil
	return b, err
}

// prepareAhead starts to prepare the next batch, where nothing can come between: what is decided carries its time, and a
// wave is judged before the next begins.
func (r *run) prepareAhead(b *batch) {
	if b.last || r.job.options.Rate > 0 || r.job.options.Ramp.Gates() {
		return
	}
	a, most := &ahead{done: make(chan struct{})}, r.limits()
	r.ahead = a
	go func() {
		defer close(a.done)
		a.batch, a.err = r.prepare(most)
	}()
}

// join waits until nothing is being prepared.
func (r *run) join() {
	if r.ahead != nil {
		<-r.ahead.done
	}
}

func (r *run) limits() limits {
	most := limits{letters: r.job.pace.Batch(batchLetters)}
	if r.wave.size > 0 {
		most.sends = max(r.wave.size-r.wave.sent, 1)
	}
	return most
}

// commit writes a batch in one transaction, keeps the rate, and looks at the gate.
func (r *run) commit(ctx context.Context, b *batch) error {
	if wait := r.job.pace.Wait(r.job.service.now(), len(b.staged)); wait > 0 {
		if err := kafka.Pause(ctx, wait); err != nil {
			return r.stopped(err)
		}
	}
	r.prepareAhead(b)
	if err := r.write(ctx, b); err != nil {
		return err
	}
	r.account(b)
	return r.gate(ctx)
}

func (r *run) stopped(err error) error {
	return fmt.Errorf("stopped with %d dead letters still to go: %w", r.job.plan.Letters-r.job.settled, err)
}

// write writes a batch. A letter that the topic refuses for its size is skipped and the rest written again without it;
// what was prepared ahead counted on it, and is decided again.
func (r *run) write(ctx context.Context, b *batch) error {
	var behind *batch
	for len(b.staged) > 0 {
		refused, err := r.writer.commitEncoded(ctx, b.encoded)
		if err != nil {
			return err
		}
		if refused == nil {
			r.job.result.Transactions++
			r.job.began = true
			break
		}
		if r.join(); behind == nil && r.ahead != nil && r.ahead.err == nil {
			behind = r.ahead.batch
			r.undo(behind)
		}
		r.drop(b, refused)
		r.trail = r.writer.trail
		if err := r.encode(b); err != nil {
			return err
		}
	}
	if behind != nil {
		r.ahead.err = r.again(behind)
	}
	return nil
}

// account counts what is now decided finally.
func (r *run) account(b *batch) {
	result := &r.job.result
	result.Reinjected += b.sends
	result.Duplicates += len(b.staged) - b.sends
	result.Already += b.already
	for i := range b.staged {
		if d := &b.staged[i]; d.sends && deadletters.OfOtherSoftware(d.letter.ID) {
			r.job.outcomes.others.sent++
		}
	}
	r.job.sent += b.sends
	r.wave.sent += b.sends
	for _, skip := range b.skips {
		result.Left++
		result.LeftBy = countLeft(result.LeftBy, skip)
		if len(result.Skipped) < maxSkips {
			result.Skipped = append(result.Skipped, skip)
		}
		if r.job.options.OnSkip != nil {
			r.job.options.OnSkip(skip)
		}
	}
	r.job.settled += b.looked
	if len(b.staged) > 0 {
		r.job.service.log.Info("replay transaction committed", "replay_id", r.job.plan.ID,
			"letters", len(b.staged), "reinjected", result.Reinjected, "duplicates", result.Duplicates)
	}
}
