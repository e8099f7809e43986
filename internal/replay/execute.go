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
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/target"
)

// Execute puts the dead letters of a plan back. It checks each again: one whose state changed since the plan, or
// whose content was put back elsewhere, is not sent. It waits for a lost broker.
//
// Canceling ctx stops it after the open transaction. What was committed stays, and the rest is still pending. The same
// plan can be executed again: this continues the same replay, and tries again those that failed in it. The error is
// [jobs.ErrLeased] if another replayer of this source topic is at work, [jobs.ErrFenced] if one took over meanwhile,
// and a *[StopError] if the replay stopped by itself.
func (s *Service) Execute(ctx context.Context, p *plan.Plan, o ExecuteOptions) (Result, error) {
	if err := cmp.Or(o.check(), s.Owns(p), o.Fits(p.To, s.alone), s.checkForced(p, o)); err != nil {
		return Result{}, err
	}
	if err := s.checkWatch(ctx, o.WatchGroup); err != nil {
		return Result{}, err
	}
	o.Wait = o.Wait || o.WatchGroup != ""
	to, err := s.targets.Find(ctx, target.Options{To: p.To, MaxReplays: p.MaxReplays, KeepTimestamp: p.KeepTimestamp})
	if err != nil {
		return Result{}, err
	}
	rewrite, err := s.dryRun.Compile(p.Rewrite)
	if err != nil {
		return Result{}, err
	}
	if p.Rewrite.Program != o.Program {
		return Result{}, fmt.Errorf("%w: the plan runs a program on each value; confirm it by giving it again with --filter: %s", operation.ErrOptions, p.Rewrite.Program)
	}
	o.Operation = p.ID
	op, err := s.operation(string(control.JobReplay), o.Call, p.Filter)
	if err != nil {
		return Result{}, err
	}
	op.Plan, op.Force = p.Checksum, p.Force
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

// Owns refuses a plan for the topics of another pipeline, with [operation.ErrOptions].
func (s *Service) Owns(p *plan.Plan) error {
	if p.Source == s.cfg.Source.Topic && p.DLQ == s.cfg.Topics.DLQ {
		return nil
	}
	return fmt.Errorf("%w: the plan is for %s from %s, but this pipeline has %s and %s; name the file of pipeline %s with -c",
		operation.ErrOptions, p.Source, p.DLQ, s.cfg.Source.Topic, s.cfg.Topics.DLQ, p.Pipeline)
}

// replaying executes a plan.
type replaying struct {
	execution
	plan       *plan.Plan
	to         target.Destination
	rewrite    *rewrite.Rewrite // nil does not change values
	subject    bool             // the current transaction has compared the subject's latest schema with the plan
	options    ExecuteOptions
	watch      *watch // nil watches no group
	consumed   consumed
	rate       ramp.Pace
	result     Result
	sessions   int
	wave       wave               // of the current session
	outcomes   *states.Counter    // of the current session
	newer      *newerRecords      // nil for a pipeline
	failed     map[states.Key]int // dead letters that an earlier call of this replay put back and that failed, with their number of replays
	dlqOffsets map[int32]int64    // DLQ offsets after the failures of earlier calls; nil if these put back no dead letter of other software
	taken      int                // dead letters whose state names this replay
	counted    bool               // taken is known
	sent       int                // dead letters of this replay that were put back, as far as the session knows
}

func (r *replaying) start(ctx context.Context, st *states.Table) (begun bool, err error) {
	if err := r.openKeys(ctx); err != nil {
		return false, err
	}
	r.outcomes, r.wave, r.consumed = r.service.states.Count(r.plan.ID, st.Ends), wave{}, consumed{}
	if r.service.alone {
		r.newer = r.service.newerRecords(st, r.plan.Seen)
	}
	if err := r.readEarlierFailures(ctx, st); err != nil {
		return false, err
	}
	r.earlier(st)
	r.taken, _ = st.Taken(r.plan.ID)
	r.counted = true
	r.report()
	r.sessions++
	if r.sent > 0 {
		if err := r.watch.earlier(ctx, slices.Sorted(maps.Keys(r.plan.Targets()))); err != nil {
			return false, err
		}
	}
	return false, r.gateEarlier(ctx)
}

// openKeys loads the keys that sign replays. A DLQ without a pipeline needs no proof.
func (r *replaying) openKeys(ctx context.Context) error {
	if r.service.alone {
		return nil
	}
	return r.service.openKeys(ctx)
}

func (r *replaying) limits() limits {
	r.newer.expire()
	r.subject = false
	out := limits{letters: r.rate.Batch(r.service.batchLetters), alone: r.options.Rate > 0 || r.options.Ramp.Gates()}
	if r.wave.size > 0 {
		out.sends = max(r.wave.size-r.wave.sent, 1)
	}
	return out
}

func (r *replaying) pace(ctx context.Context, letters int) error {
	if wait := r.rate.Wait(r.service.now(), letters); wait > 0 {
		return kafka.Pause(ctx, wait)
	}
	return nil
}

// count counts final decisions.
func (r *replaying) count(b *batch) {
	result := &r.result
	result.Reinjected += b.sends
	result.Duplicates += len(b.staged) - b.sends
	result.Already += b.already
	for i := range b.staged {
		d := &b.staged[i]
		if d.Prev.ReplayID != r.plan.ID { // else an earlier call took it, and it failed
			r.taken++
		}
		if !d.Sends {
			continue
		}
		r.watch.sent(d.SentTo, d.Offset)
		if deadletters.OfOtherSoftware(d.Letter.ID) {
			r.outcomes.Foreign.Sent++
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
			"dead_letters", len(b.staged), "reinjected", result.Reinjected, "duplicates", result.Duplicates)
	}
}

// counts has outcomes only as far as the replay waited for them.
func (r *replaying) counts() control.JobCounts {
	c := control.JobCounts{Done: r.result.Reinjected + r.result.Already, Duplicates: r.result.Duplicates, Wave: r.wave.number, Taken: r.taken, Counted: r.counted}
	if r.outcomes != nil {
		c.Reprocessed, c.FailedAgain = r.outcomes.Counts.Reprocessed, r.outcomes.Counts.FailedAgain
	}
	c.Watched = r.watched()
	return c
}

// outcome returns the outcome of the dead letters. A session counts only what comes after its start; after several
// sessions, the states of all dead letters are counted.
func (r *replaying) outcome(ctx context.Context) states.Counts {
	if r.sessions > 1 && !r.service.alone {
		if report, _, err := r.service.states.Replays().Report(ctx, r.plan.ID, states.OutcomeQuery{}); err == nil {
			return r.withConsumed(report.Counts)
		}
	}
	return r.withConsumed(r.outcomes.Total(r.sent))
}

// lostBroker reports that the replay waits for the broker.
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
		p.Outcome = r.withConsumed(r.outcomes.Total(r.sent))
	}
	r.options.Progress(p)
}
