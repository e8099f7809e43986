package replay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
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
	if err := o.check(); err != nil {
		return Result{}, err
	}
	if err := s.Owns(p); err != nil {
		return Result{}, err
	}
	if err := o.Fits(p.To); err != nil {
		return Result{}, err
	}
	if err := s.checkForced(p, o); err != nil {
		return Result{}, err
	}
	if err := s.checkDestination(ctx, p.To); err != nil {
		return Result{}, err
	}
	filter, err := json.Marshal(p.Filter)
	if err != nil {
		return Result{}, fmt.Errorf("encode the filter: %w", err)
	}
	j := &job{
		service: s, plan: p, options: o, pace: ramp.NewPace(o.Rate),
		op:     operation{id: p.ID, by: s.by, user: s.user, call: newID("call", s.now()), reason: o.Reason, plan: p.Checksum, filter: string(filter), word: "replay", force: p.Force},
		result: Result{ReplayID: p.ID, Attempted: p.Letters},
	}
	j.op.lease = s.newLease(j.op)
	err = s.persist(ctx, j.op.lease, j.session, j.lostBroker)
	if j.outcomes != nil && (o.Wait || o.Ramp.Gates()) {
		outcome := j.outcome(ctx)
		j.result.Outcome = &outcome
	}
	j.result.LeftBy = sortedLeft(j.result.LeftBy)
	done := j.result.Reinjected + j.result.Already + j.result.Duplicates + j.result.Left
	j.result.NotReached = max(0, j.result.Attempted-done)
	if j.noted {
		j.ended(ctx, err)
	}
	s.log.Info("replay ended", "replay_id", p.ID, "reinjected", j.result.Reinjected,
		"duplicates", j.result.Duplicates, "left", j.result.Left, "error", err)
	return j.result, err
}

// Owns refuses a plan that was made for the topics of another pipeline, with [ErrOptions].
func (s *Service) Owns(p *plan.Plan) error {
	if p.Source == s.cfg.Source.Topic && p.DLQ == s.cfg.Topics.DLQ {
		return nil
	}
	return fmt.Errorf("%w: the plan is for %s from %s, this pipeline has %s and %s; name the file of pipeline %s with -c",
		ErrOptions, p.Source, p.DLQ, s.cfg.Source.Topic, s.cfg.Topics.DLQ, p.Pipeline)
}

// job is one execution of one plan, over as many sessions as the broker makes necessary.
type job struct {
	service  *Service
	plan     *plan.Plan
	options  ExecuteOptions
	op       operation
	pace     ramp.Pace
	result   Result
	settled  int // letters of the plan that are decided finally, in the order of the passes
	began    bool
	sessions int
	outcomes *outcomes     // of the session at hand
	failed   map[idKey]int // letters that an earlier call of this replay put back and that failed -> their replays
	noted    bool          // the control topic says that this replay was begun
	sent     int           // letters of this replay that the session knows to have been put back
}

// session is one writer's time: from fencing everybody else to the end of the plan, or to the loss of the broker.
func (j *job) session(ctx context.Context) error {
	w, st, err := j.service.startWriter(ctx, j.op)
	if err != nil {
		return err
	}
	defer w.close()
	if err := j.service.openKeys(ctx); err != nil {
		return err
	}
	if !j.began {
		w.trail.opening = j.service.begin(j.op, j.plan.Letters)
	}
	if j.sessions == 0 {
		j.begins(ctx)
	}
	j.outcomes = j.service.outcomesOf(j.plan.ID, st.ends)
	j.earlier(st)
	j.sessions++
	r := &run{job: j, writer: w, standing: st}
	if err := r.gateEarlier(ctx); err != nil {
		return err
	}
	if err := r.both(ctx); err != nil {
		return err
	}
	w.settle(ctx)
	return r.wait(ctx)
}

// earlier takes over what an earlier call or session of the replay has put back: what is under way, and, in the first session, what
// failed again. What fails from then on failed in this call.
func (j *job) earlier(st *standing) {
	failed := map[idKey]int{}
	others := &j.outcomes.others
	j.sent = 0
	for key, m := range st.ofReplay(j.plan.ID) {
		switch m.fate() {
		case fateUnderWay:
			j.sent++
			if m.has(theirs) {
				others.sent++
				if at := m.time(); at.Before(others.since) {
					others.since = at
				}
			}
		case fateFailedAgain:
			failed[key] = int(m.count)
		default:
		}
	}
	if j.sessions == 0 {
		j.failed = failed
	}
}

// outcome is what became of the letters. A session hears only what comes after its beginning; of several, the states of all
// letters of the replay are counted.
func (j *job) outcome(ctx context.Context) Outcome {
	if j.sessions > 1 {
		if report, err := j.service.Status(ctx, j.plan.ID); err == nil {
			return report.Outcome
		}
	}
	return j.outcomes.outcome(j.sent)
}

// lostBroker hears that the broker is being waited for.
func (j *job) lostBroker(err error) {
	j.progress(Progress{Phase: Broker, Err: err})
}

func (j *job) progress(p Progress) {
	if j.options.Progress == nil {
		return
	}
	p.Letters, p.Settled, p.Sent = j.plan.Letters, j.settled, j.sent
	if j.outcomes != nil {
		p.Outcome = j.outcomes.outcome(j.sent)
	}
	j.options.Progress(p)
}
