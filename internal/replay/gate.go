package replay

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// lookPause is the time between two polls of the status topic while a replay waits for the consumer's verdict.
const lookPause = 250 * time.Millisecond

// wave is a part of a plan. The gate judges a wave as a whole.
type wave struct {
	number int
	size   int // dead letters to put back; 0 is all the remaining ones
	sent   int // dead letters put back so far
	before states.Counts
}

// gateEarlier judges the dead letters that an earlier call or session put back and the consumer has not finished.
// They form a wave of their own. The canary wave follows.
func (r *replaying) gateEarlier(ctx context.Context) error {
	g := r.options.Ramp
	if g.Gates() && r.sent > 0 {
		r.wave.sent = r.sent
		if err := r.await(ctx, g, r.sent, Gating); err != nil {
			return err
		}
	}
	r.nextWave(g)
	return nil
}

func (r *replaying) nextWave(g ramp.Ramp) {
	size, ok := g.Wave(r.wave.size)
	if !ok {
		size = 0
	}
	r.wave = wave{number: r.wave.number + 1, size: size, before: r.outcomes.Counts}
	r.wave.before.Reasons = maps.Clone(r.wave.before.Reasons)
}

// gate runs after each transaction. When the open wave was sent completely, it waits for the consumer's verdict on
// it.
func (r *replaying) gate(ctx context.Context) error {
	g := r.options.Ramp
	r.progress(Progress{Phase: Sending, Wave: r.wave.number, WaveSize: r.wave.size})
	switch {
	case !g.Gates():
		return nil
	case r.wave.size > 0 && r.wave.sent >= r.wave.size:
		if err := r.await(ctx, g, r.wave.size, Gating); err != nil {
			return err
		}
		r.nextWave(g)
		return nil
	}
	return r.judgeOpenWave(ctx, g)
}

// judgeOpenWave judges a wave that is still being sent, so that the replay stops as soon as too many dead letters
// failed again.
func (r *replaying) judgeOpenWave(ctx context.Context, g ramp.Ramp) error {
	if err := r.outcomes.Poll(ctx); err != nil {
		return err
	}
	size := r.wave.size
	if size == 0 {
		size = max(r.letters-r.plan.Summary().Duplicates-r.settled, 0) + r.wave.sent // the largest possible size of this wave
	}
	finished, failed := r.sinceWave()
	if g.Judge(size, finished, failed) == ramp.Stop {
		return r.stop(g, size, finished, failed)
	}
	return nil
}

// wait waits for the consumer at the end of the plan if the options ask for it or the last wave is gated. A watched
// group that has passed the last wave has passed all waves.
func (r *replaying) wait(ctx context.Context) error {
	g := r.options.Ramp
	if g.Gates() && r.wave.sent > 0 {
		if err := r.await(ctx, g, r.wave.sent, Waiting); err != nil {
			return err
		}
	}
	if !r.options.Wait || r.wave.sent > 0 && r.groupPassed() {
		return nil
	}
	r.wave = wave{number: r.wave.number, sent: r.sent}
	return r.await(ctx, ramp.Ramp{MaxFailed: 1}, r.sent, Waiting)
}

// await polls the outcomes until the consumer has finished the wave or too many dead letters failed again.
func (r *replaying) await(ctx context.Context, g ramp.Ramp, size int, phase Phase) error {
	began := r.service.now()
	quiet, heard := graceWait{since: began, behind: -1}, consumerProgress{last: -1, since: began}
	for {
		if err := r.outcomes.Poll(ctx); err != nil {
			return err
		}
		r.progress(Progress{Phase: phase, Wave: r.wave.number, WaveSize: r.wave.size, Watched: r.awaited(&quiet)})
		finished, failed := r.sinceWave()
		switch g.Judge(size, finished, failed) {
		case ramp.Go:
			return nil
		case ramp.Stop:
			return r.stop(g, size, finished, failed)
		case ramp.Wait:
		}
		now := r.service.now()
		var over bool
		var err error
		if r.service.alone {
			over, err = r.passed(ctx, &quiet, now, size)
		} else {
			over, err = r.gaveUpWaiting(&heard, now, g, size)
		}
		if over || err != nil {
			return err
		}
		if err := kafka.Pause(ctx, lookPause); err != nil {
			return fmt.Errorf("stopped while the consumer had %d dead letters to finish: %w", size-finished, err)
		}
	}
}

// consumerProgress is the last time at which the consumer finished a dead letter.
type consumerProgress struct {
	last  int // number of finished dead letters at that time
	since time.Time
}

// gaveUpWaiting reports whether the replay stops waiting for a wave whose remaining dead letters went to other
// software, which reports failures but no successes. It returns a [*StopError] if the consumer finishes nothing for
// longer than the patience.
func (r *replaying) gaveUpWaiting(h *consumerProgress, now time.Time, g ramp.Ramp, size int) (over bool, err error) {
	finished, failed := r.sinceWave()
	if r.job.PauseOrdered() || finished > h.last {
		h.last, h.since = finished, now
	}
	theirs := r.outcomes.Foreign.Open()
	others := !g.Gates() && size-finished <= theirs
	if others && now.Sub(h.since) >= r.service.cfg.DeadLetters.UnheardAfter.Std() {
		return true, nil
	}
	if patience := r.options.Patience; patience > 0 && now.Sub(h.since) >= patience {
		if others {
			return true, nil
		}
		return false, &StopError{Wave: r.wave.number, Size: size, Finished: finished, Failed: failed, Others: min(theirs, size-finished), Patience: patience.String()}
	}
	return false, nil
}

// graceWait measures the grace: the time in which no dead letter of a wave may die again. Only a DLQ without a pipeline
// has it.
type graceWait struct {
	since  time.Time // when the watched group passed the wave; without a watched group, when the wave was sent
	moved  time.Time // when the group last committed new offsets; zero before the first look
	behind int64     // lag of the group at the last look; negative before the first look
}

// awaited returns what a wave waits for. It returns nil if a pipeline's consumer reports the outcomes.
func (r *replaying) awaited(q *graceWait) *Watched {
	if !r.service.alone {
		return nil
	}
	w := &Watched{Behind: q.behind, Grace: max(r.options.Grace-r.service.now().Sub(q.since), 0)}
	if r.watch != nil {
		w.Group = r.watch.group
	}
	return w
}

// passed reports whether a wave is over: the watched group has passed it, and not too many dead letters died again
// within the grace.
func (r *replaying) passed(ctx context.Context, q *graceWait, now time.Time, size int) (over bool, err error) {
	behind, err := r.watch.behind(ctx)
	if err != nil {
		return false, err
	}
	if r.job.PauseOrdered() || behind != q.behind || q.moved.IsZero() {
		q.moved, q.behind = now, behind
	}
	if behind > 0 {
		q.since = now
		if patience := r.options.Patience; patience > 0 && now.Sub(q.moved) >= patience {
			_, failed := r.sinceWave()
			return false, &StopError{Wave: r.wave.number, Size: size, Failed: failed, Group: r.watch.group, Behind: behind, Patience: patience.String()}
		}
		return false, nil
	}
	over = now.Sub(q.since) >= r.options.Grace
	if over {
		r.noteGroupPassed()
	}
	return over, nil
}

// sinceWave returns how many dead letters the consumer has finished since the wave began, and how many of those
// failed again.
func (r *replaying) sinceWave() (finished, failed int) {
	now, before := r.outcomes.Counts, r.wave.before
	return now.Finished() - before.Finished(), now.FailedAgain - before.FailedAgain
}

func (r *replaying) stop(g ramp.Ramp, size, finished, failed int) error {
	reasons := map[string]int{} // failures of this wave by reason
	for reason, n := range r.outcomes.Counts.Reasons {
		if n -= r.wave.before.Reasons[reason]; n > 0 {
			reasons[reason] = n
		}
	}
	return &StopError{Wave: r.wave.number, Size: size, Finished: finished, Failed: failed, Limit: g.MaxFailed, Reasons: reasons}
}
