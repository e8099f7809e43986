package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

// Execute puts the letters of a plan back. It looks at each again: one that changed its state
// since the plan, or whose content was put back elsewhere, is not sent. A lost broker is waited for.
//
// Canceling ctx stops after the transaction that is open; what was committed stays, the rest is still
// pending, and the same plan can be executed again: it is the same replay, which goes on where it
// stopped, and tries those again that failed in it. The error is [ErrLeased] when another replayer of this source topic is at
// work, [ErrFenced] when one took over meanwhile, and a
// *[StopError] when the replay stopped by itself.
func (s *Service) Execute(ctx context.Context, p *plan.Plan, o ExecuteOptions) (Result, error) {
	if err := cmp.Or(o.check(), s.Owns(p), s.fits(o, p.To), s.checkForced(p, o)); err != nil {
		return Result{}, err
	}
	if err := s.checkWatch(ctx, o.WatchGroup); err != nil {
		return Result{}, err
	}
	o.Wait = o.Wait || o.WatchGroup != ""
	to, err := s.aimed(ctx, PlanOptions{To: p.To, MaxReplays: p.MaxReplays, KeepTimestamp: p.KeepTimestamp})
	if err != nil {
		return Result{}, err
	}
	rewrite, err := s.rewriteOf(p.Rewrite)
	if err != nil {
		return Result{}, err
	}
	if p.Rewrite.Program != o.Program {
		return Result{}, fmt.Errorf("%w: the plan runs a program on each value, which has to be given again: %s", ErrOptions, p.Rewrite.Program)
	}
	o.Operation = p.ID
	op, err := s.operation(string(control.JobReplay), o.Call, p.Filter)
	if err != nil {
		return Result{}, err
	}
	op.plan, op.force = p.Checksum, p.Force
	r := &replaying{plan: p, to: to, rewrite: rewrite, options: o, rate: ramp.NewPace(o.Rate), result: Result{ReplayID: p.ID, Attempted: p.Letters}}
	r.execution = execution{service: s, task: r, letters: p.Letters, op: op}
	if err := r.checkSubject(ctx); err != nil {
		return Result{}, err
	}
	if o.WatchGroup != "" {
		r.watch = s.newWatch(o.WatchGroup)
	}
	err = r.run(ctx)
	r.result.Transactions, r.result.Untouched = r.transactions, r.left.sorted()
	if r.outcomes != nil && (o.Wait || o.Ramp.Gates()) {
		outcome := r.outcome(ctx)
		r.result.Outcome = &outcome
	}
	done := r.result.Reinjected + r.result.Already + r.result.Duplicates + r.result.Left
	r.result.NotReached = max(0, r.result.Attempted-done)
	s.log.Info("replay ended", "replay_id", p.ID, "reinjected", r.result.Reinjected,
		"duplicates", r.result.Duplicates, "left", r.result.Left, "error", err)
	return r.result, err
}

// Owns refuses a plan that was made for the topics of another pipeline, with [ErrOptions].
func (s *Service) Owns(p *plan.Plan) error {
	if p.Source == s.cfg.Source.Topic && p.DLQ == s.cfg.Topics.DLQ {
		return nil
	}
	return fmt.Errorf("%w: the plan is for %s from %s, this pipeline has %s and %s; name the file of pipeline %s with -c",
		ErrOptions, p.Source, p.DLQ, s.cfg.Source.Topic, s.cfg.Topics.DLQ, p.Pipeline)
}

// replaying is the execution of a plan.
type replaying struct {
	execution
	plan     *plan.Plan
	to       destination
	rewrite  *rewrite.Rewrite // nil leaves values as they are
	subject  bool             // has the latest schema that the plan says, as of the transaction at hand
	options  ExecuteOptions
	watch    *watch // nil watches no group
	consumed consumed
	rate     ramp.Pace
	result   Result
	sessions int
	wave     wave            // of the session at hand
	outcomes *outcomes       // of the session at hand
	newer    *newer          // nil of a pipeline
	failed   map[idKey]int   // letters that an earlier call of this replay put back and that failed -> their replays
	heard    map[int32]int64 // offsets of the DLQ behind what died again in earlier calls; nil when they put nothing of other software back
	sent     int             // letters of this replay that the session knows to have been put back
}

func (r *replaying) start(ctx context.Context, st *standing) (begun bool, err error) {
	if err := r.openKeys(ctx); err != nil {
		return false, err
	}
	r.outcomes, r.wave, r.consumed = r.service.outcomesOf(r.plan.ID, st.ends), wave{}, consumed{}
	if r.service.alone {
		r.newer = r.service.newerOf(st, r.plan.Seen)
	}
	if err := r.hearEarlier(ctx, st); err != nil {
		return false, err
	}
	r.earlier(st)
	r.sessions++
	if r.sent > 0 {
		if err := r.watch.earlier(ctx, slices.Sorted(maps.Keys(r.plan.Targets()))); err != nil {
			return false, err
		}
	}
	return false, r.gateEarlier(ctx)
}

// openKeys takes up the keys that sign replays. Of a DLQ without a pipeline nobody asks for a proof.
func (r *replaying) openKeys(ctx context.Context) error {
	if r.service.alone {
		return nil
	}
	return r.service.openKeys(ctx)
}

func (r *replaying) limits() limits {
	r.newer.expire()
	r.subject = false
	most := limits{letters: r.rate.Batch(r.service.batchLetters), alone: r.options.Rate > 0 || r.options.Ramp.Gates()}
	if r.wave.size > 0 {
		most.sends = max(r.wave.size-r.wave.sent, 1)
	}
	return most
}

func (r *replaying) pace(ctx context.Context, letters int) error {
	if wait := r.rate.Wait(r.service.now(), letters); wait > 0 {
		return kafka.Pause(ctx, wait)
	}
	return nil
}

// count counts what is decided finally.
func (r *replaying) count(b *batch) {
	result := &r.result
	result.Reinjected += b.sends
	result.Duplicates += len(b.staged) - b.sends
	result.Already += b.already
	for i := range b.staged {
		d := &b.staged[i]
		if !d.sends {
			continue
		}
		r.watch.sent(d.sentTo, d.offset)
		if deadletters.OfOtherSoftware(d.letter.ID) {
			r.outcomes.others.sent++
		}
	}
	r.sent += b.sends
	r.wave.sent += b.sends
	if r.options.OnSkip != nil {
		for _, skip := range b.skips {
			r.options.OnSkip(skip)
		}
	}
	if len(b.staged) > 0 {
		r.service.log.Info("replay transaction committed", "replay_id", r.plan.ID,
			"letters", len(b.staged), "reinjected", result.Reinjected, "duplicates", result.Duplicates)
	}
}

// counts counts what came back of the consumer only as far as it was waited for.
func (r *replaying) counts() control.JobCounts {
	c := control.JobCounts{Done: r.result.Reinjected + r.result.Already, Duplicates: r.result.Duplicates, Wave: r.wave.number}
	if r.outcomes != nil {
		c.Reprocessed, c.FailedAgain = r.outcomes.counts.Reprocessed, r.outcomes.counts.FailedAgain
	}
	c.Watched = r.watched()
	return c
}

// outcome is what became of the letters. A session hears only what comes after its beginning; of several, the states of all
// letters of the replay are counted.
func (r *replaying) outcome(ctx context.Context) Outcome {
	if r.sessions > 1 && !r.service.alone {
		if report, _, err := r.service.Overview().report(ctx, r.plan.ID, OutcomeQuery{}); err == nil {
			return r.withConsumed(report.Outcome)
		}
	}
	return r.withConsumed(r.outcomes.outcome(r.sent))
}

// lostBroker hears that the broker is being waited for.
func (r *replaying) lostBroker(err error) {
	r.progress(Progress{Phase: Broker, Err: err})
}

func (r *replaying) progress(p Progress) {
	r.report()
	if r.options.Progress == nil {
		return
	}
	p.Letters, p.Settled, p.Sent = r.plan.Letters, r.settled, r.sent
	if r.outcomes != nil {
		p.Outcome = r.withConsumed(r.outcomes.outcome(r.sent))
	}
	r.options.Progress(p)
}
