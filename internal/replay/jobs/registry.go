package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/statestore"
)

// Registry reads and writes the lease and the jobs of one DLQ. Its fields are set once.
type Registry struct {
	Store *statestore.Store
	Log   *slog.Logger
	Now   func() time.Time
	Host  string // name of this machine

	Life      time.Duration // time without a renewal after which a lease has expired
	Renewal   time.Duration // time between two renewals
	LastWrite time.Duration // time limit of the last write to the control topic, also after an interruption
}

// New returns a registry with the usual times.
func New(store *statestore.Store, log *slog.Logger, now func() time.Time, host string) *Registry {
	return &Registry{Store: store, Log: log, Now: now, Host: host, Life: leaseLife, Renewal: leaseRenewal, LastWrite: lastWrite}
}

const (
	leaseRenewal = 2 * time.Second
	leaseLife    = 10 * time.Second
	leaseLook    = 250 * time.Millisecond // time between two looks at the lease of another replayer
	lastWrite    = 3 * time.Second
)

// AtWork describes the holder of the lease and whether it may have died. It returns "" if the lease is free.
func (r *Registry) AtWork(l *control.Lease) string {
	switch {
	case l == nil || l.Released:
		return ""
	case r.Now().Sub(l.Renewed) > r.Life:
		return fmt.Sprintf("%s; no sign of life since %s", l, l.Renewed.UTC().Format(time.RFC3339))
	}
	return l.String()
}

// Taken counts the dead letters that a replay took, by their states, and how many of them it closed as duplicates.
type Taken func(replayID string) (all, duplicates int)

// Jobs returns the jobs of a control topic, each in the state that an observer sees.
func (r *Registry) Jobs(view control.View, taken Taken) []control.Job {
	jobs, _ := view.LatestJobs(r.Now())
	for i := range jobs {
		j := &jobs[i]
		recorded := j.State
		alive := r.holds(view.Lease, j)
		order := view.OrderFor(*j)
		j.State = jobStateSeen(recorded, order.Verb, order.At.Equal(j.Obeyed), alive)
		switch {
		case alive:
			j.Heard = view.Lease.Renewed
		case !recorded.Ended():
			r.died(j, taken)
		}
	}
	return jobs
}

// holds reports whether the process of a job is running.
func (r *Registry) holds(l *control.Lease, j *control.Job) bool {
	return l != nil && !l.Released && l.Token == j.Run && r.Now().Sub(l.Renewed) <= r.Life
}

// died completes the record of a job whose process ended without writing its end. For a replay, it adds from the states
// what the process committed after its last report.
func (r *Registry) died(j *control.Job, taken Taken) {
	j.Why = "its replayer ended without a report: it was killed, or lost the brokers"
	if j.Kind != control.JobReplay {
		return
	}
	j.JobCounts = withUnreported(*j, taken)
	switch {
	case j.NotReached > 0:
	case j.FailedAgain > 0:
		j.State = control.JobFailedAgain
	case j.Watched.Waiting == 0:
		j.State = control.JobDone
	}
}

// withUnreported returns the counts of a replay with the dead letters that it took after its last report. Before a later
// call has counted those of the earlier ones they are unknown, since the states do not tell the calls apart. Neither do
// they tell that a dead letter that had failed again was taken once more: after the last report it counts as not reached.
func withUnreported(j control.Job, taken Taken) control.JobCounts {
	c := j.JobCounts
	if j.Again && !c.Counted {
		return c
	}
	all, duplicates := taken(j.ID)
	unreported := min(c.NotReached, max(0, all-c.Taken))
	duplicates = min(unreported, max(0, duplicates-c.Duplicates))
	if j.Again {
		duplicates = 0 // those of earlier calls are among them
	}
	c.NotReached -= unreported
	c.Duplicates += duplicates
	c.Done += unreported - duplicates
	return c
}

// Find returns the job with an ID, or [ErrNoJob]. taken is that of [Registry.Jobs].
func (r *Registry) Find(ctx context.Context, id string, taken Taken) (control.Job, error) {
	view, err := r.Store.Control(ctx)
	if err != nil && !r.Store.Uncreated(err) {
		return control.Job{}, err
	}
	for _, j := range r.Jobs(view, taken) {
		if j.ID == id {
			return j, nil
		}
	}
	return control.Job{}, fmt.Errorf("%w: %s has none with the id %s; `replayer replays` lists them", ErrNoJob, r.Store.ControlName(), id)
}

// Order writes an order of an operator for a job that [Registry.Find] returned. The executing process, on whatever
// machine, reads it at the next renewal of its lease. Order returns the job in its state after the order.
//
// A paused job finishes its transaction, sends nothing more, and keeps its lease. A cancelled job finishes its
// transaction and ends; committed changes stay. Order returns a [OrderError] if no process can obey. The record of the
// job then contains the command that continues it.
func (r *Registry) Order(ctx context.Context, j control.Job, by string, verb control.JobVerb) (control.Job, error) {
	switch judgeOrder(j.State, verb) {
	case orderRefuse:
		return j, &OrderError{Job: j, Verb: verb}
	case orderGiven:
		return j, nil
	case orderGive:
	}
	leases, err := r.Store.OpenLeases()
	if err != nil {
		return j, err
	}
	defer leases.Close()
	if err := leases.PutJobOrder(ctx, j.ID, control.JobOrder{Verb: verb, Run: j.Run, By: by, At: r.Now()}); err != nil {
		return j, err
	}
	j.State = jobStateAtWork(verb, j.State == control.JobPaused)
	return j, nil
}
