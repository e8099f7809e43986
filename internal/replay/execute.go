package replay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pause"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// Execute puts the letters of a plan back. It looks at each again: one that changed its state
// since the plan, or whose content was put back elsewhere, is not sent. A lost broker is waited for.
//
// Canceling ctx stops after the transaction that is open; what was committed stays, the rest is still
// pending, and the same plan can be executed again: it is the same replay, which goes on where it
// stopped. The error is [ErrFenced] when another replayer of this source topic started meanwhile, and a
// *[StopError] when the replay stopped by itself.
func (s *Service) Execute(ctx context.Context, p *plan.Plan, o ExecuteOptions) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	if p.Source != s.cfg.Source.Topic || p.DLQ != s.cfg.Topics.DLQ {
		return Result{}, fmt.Errorf("the plan is for %s from %s, this pipeline has %s and %s",
			p.Source, p.DLQ, s.cfg.Source.Topic, s.cfg.Topics.DLQ)
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
		op:     operation{id: p.ID, by: s.by, reason: o.Reason, plan: p.Checksum, filter: string(filter), word: "replay", force: p.Force},
		result: Result{ReplayID: p.ID, Attempted: p.Letters},
	}
	err = s.persist(ctx, j.session, j.lostBroker)
	if j.outcomes != nil && (o.Wait || o.Ramp.Gates()) {
		outcome := j.outcomes.outcome(j.sent)
		j.result.Outcome = &outcome
	}
	s.log.Info("replay ended", "replay_id", p.ID, "reinjected", j.result.Reinjected,
		"duplicates", j.result.Duplicates, "left", j.result.Left, "error", err)
	return j.result, err
}

// job is one execution of one plan, over as many sessions as the broker makes necessary.
type job struct {
	service  *Service
	plan     *plan.Plan
	options  ExecuteOptions
	op       operation
	pace     ramp.Pace
	result   Result
	settled  int // letters of the plan, from its beginning, that are decided for good
	began    bool
	outcomes *outcomes // of the session at hand
	sent     int       // letters of this replay that the session knows to have been put back
}

// session is one writer's time: from fencing everybody else to the end of the plan, or to the loss of the broker.
func (j *job) session(ctx context.Context) error {
	w, st, err := j.service.startWriter(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	if !j.began {
		w.before = append(w.before, j.service.begin(j.op, j.plan.Letters))
	}
	j.sent = st.underWay(j.plan.ID)
	j.outcomes = j.service.outcomesOf(j.plan.ID, st.ends)
	r := &run{job: j, writer: w, standing: st}
	if err := r.gateEarlier(ctx); err != nil {
		return err
	}
	next, stop, err := j.plan.Walk()
	if err != nil {
		return err
	}
	defer stop()
	r.next = next
	if err := r.skipSettled(); err != nil {
		return err
	}
	err = deadletters.Scan(ctx, j.service.client, j.service.cfg.Topics.DLQ, j.plan.Spans, func(rec *kgo.Record) error {
		return r.take(ctx, rec)
	})
	if err == nil {
		err = r.finish(ctx)
	}
	if err == nil {
		w.settle(ctx)
		err = r.wait(ctx)
	}
	return err
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

// run is the part of a job that one session does.
type run struct {
	job      *job
	writer   *writer
	standing *standing // as of the fencing, plus what this run staged
	next     func() (*plan.Letter, error)
	current  *plan.Letter // the next letter of the plan; nil after the last
	seen     int          // letters of the plan that were looked at
	wave     wave
	batch    []staged
	skips    []Skip
	already  int
	bytes    int
	sends    int // letters of the batch that go back
}

// skipSettled passes over what earlier sessions decided.
func (r *run) skipSettled() error {
	for r.seen < r.job.settled {
		if _, err := r.next(); err != nil {
			return err
		}
		r.seen++
	}
	return r.advance()
}

func (r *run) advance() (err error) {
	r.current, err = r.next()
	return err
}

// take looks at one record of the DLQ and stages what is to be done with it.
func (r *run) take(ctx context.Context, rec *kgo.Record) error {
	for r.current != nil && (r.current.Partition < rec.Partition || r.current.Partition == rec.Partition && r.current.Offset < rec.Offset) {
		if err := r.gone(); err != nil {
			return err
		}
	}
	if r.current == nil || r.current.Partition != rec.Partition || r.current.Offset != rec.Offset {
		return nil
	}
	planned := r.current
	letter := deadletters.Decode(rec, true)
	do, err := r.decide(planned, &letter)
	if err != nil {
		return err
	}
	if len(r.batch) > 0 && r.bytes+letter.Size > batchBytes {
		if err := r.commit(ctx); err != nil {
			return err
		}
	}
	r.stage(do, &letter)
	if err := r.advance(); err != nil {
		return err
	}
	if r.full() {
		return r.commit(ctx)
	}
	return nil
}

// stage takes a decision into the batch.
func (r *run) stage(do decision, letter *deadletters.Letter) {
	r.seen++
	switch {
	case do.already:
		r.already++
	case do.why != "":
		r.skips = append(r.skips, Skip{ID: r.current.ID, Why: do.why})
	default:
		r.batch = append(r.batch, do.staged)
		r.bytes += letter.Size
		r.standing.set(do.next)
		if do.sends {
			r.sends++
			r.standing.hold(letter.ContentHash, letter.ID)
		}
	}
}

// full says whether the batch is to be committed before the next letter is looked at.
func (r *run) full() bool {
	limit := r.job.pace.Batch(batchLetters)
	return len(r.batch) >= limit || len(r.skips) >= maxSkips || r.wave.size > 0 && r.wave.sent+r.sends >= r.wave.size
}

// gone leaves a letter whose record is no longer there.
func (r *run) gone() error {
	at := r.current.DLQ(r.job.plan.DLQ)
	r.stage(decision{why: "its record " + at.String() + " is gone: retention took it"}, nil)
	return r.advance()
}

// finish commits what is staged and names the letters that are no longer there.
func (r *run) finish(ctx context.Context) error {
	for r.current != nil {
		if err := r.gone(); err != nil {
			return err
		}
	}
	return r.commit(ctx)
}

// commit writes the batch in one transaction, keeps the rate, and looks at the gate.
func (r *run) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return r.stopped(err)
	}
	if wait := r.job.pace.Wait(r.job.service.now(), len(r.batch)); wait > 0 {
		if err := pause.For(ctx, wait); err != nil {
			return r.stopped(err)
		}
	}
	if err := r.commitBatch(ctx); err != nil {
		return err
	}
	r.account()
	return r.gate(ctx)
}

func (r *run) stopped(err error) error {
	return fmt.Errorf("stopped with %d letters still to go: %w", r.job.plan.Letters-r.job.settled, err)
}

// commitBatch writes the batch. A letter that the topic refuses for its size is skipped and the rest
// written again without it.
func (r *run) commitBatch(ctx context.Context) error {
	for len(r.batch) > 0 {
		refused, err := r.writer.write(ctx, r.batch, false)
		if err == nil && refused != nil {
			refused, err = r.writer.write(ctx, r.batch, true) // perhaps only all of them together are too large
		}
		if err != nil {
			return err
		}
		if refused == nil {
			r.job.result.Transactions++
			r.job.began = true
			return nil
		}
		r.drop(refused)
	}
	return nil
}

// account counts what is now decided for good.
func (r *run) account() {
	result := &r.job.result
	for i := range r.batch {
		if r.batch[i].sends {
			result.Reinjected++
			r.job.sent++
			r.wave.sent++
		} else {
			result.Duplicates++
		}
	}
	for _, skip := range r.skips {
		result.Left++
		if len(result.Skipped) < maxSkips {
			result.Skipped = append(result.Skipped, skip)
		}
		if r.job.options.OnSkip != nil {
			r.job.options.OnSkip(skip)
		}
	}
	result.Already += r.already
	r.job.settled = r.seen
	if len(r.batch) > 0 {
		r.job.service.log.Info("replay transaction committed", "replay_id", r.job.plan.ID,
			"letters", len(r.batch), "reinjected", result.Reinjected, "duplicates", result.Duplicates)
	}
	clear(r.batch)
	r.batch, r.skips, r.already, r.bytes, r.sends = r.batch[:0], r.skips[:0], 0, 0, 0
}

// drop takes a refused letter out of the batch, and the duplicates that it would have stood for.
func (r *run) drop(refused *staged) {
	why := "the topic refuses it: with the headers of a replay it is larger than the topic's max.message.bytes"
	hash := refused.letter.ContentHash
	var rest []staged
	for i := range r.batch {
		d := r.batch[i]
		if d.letter.ContentHash != hash {
			rest = append(rest, d)
			continue
		}
		if d.sends {
			r.sends--
		}
		r.standing.set(d.prev)
		r.skips = append(r.skips, Skip{ID: d.letter.ID, Why: why})
	}
	r.batch = rest
}
