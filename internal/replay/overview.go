package replay

import (
	"context"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/states"
)

// Overview follows all replays and jobs. The first call reads the status topic, and each later one what is new. It is
// not safe for concurrent use.
type Overview struct {
	service *Service
	replays *states.Replays
	before  Look
}

// Overview returns an Overview that has read nothing yet.
func (s *Service) Overview() *Overview {
	return &Overview{service: s, replays: s.states.Replays()}
}

// Look is the state of all replays at one time.
type Look struct {
	At        time.Time         `json:"at"`
	AtWork    string            `json:"at_work,omitempty"`   // which replayer is running, since when and for which operation
	Obstacles []Obstacle        `json:"obstacles,omitempty"` // see [Service.Obstacles]
	Replays   []states.Underway `json:"replays"`             // unfinished replays, the last changed first
	Jobs      []control.Job     `json:"jobs"`                // of all kinds, running and ended, the last begun first
	Finished  int               `json:"finished_replays"`    // number of finished replays with a state
}

// Look reads what is new and returns the state of all replays. After an error, the next call continues.
func (o *Overview) Look(ctx context.Context) (Look, error) {
	s := o.service
	if err := o.replays.Read(ctx); err != nil {
		return Look{}, err
	}
	now := Look{At: s.now(), Obstacles: s.Obstacles(ctx)}
	now.Replays, now.Finished = o.replays.Unfinished()
	now.Jobs = []control.Job{}
	if view, err := s.store.Control(ctx); err == nil {
		now.AtWork = s.jobs.AtWork(view.Lease)
		now.Jobs = append(now.Jobs, s.jobs.Jobs(view, o.replays.Taken)...)
	} // if not, the obstacles say why the control topic is unreadable
	for _, j := range now.Jobs {
		underWay := slices.ContainsFunc(now.Replays, func(r states.Underway) bool { return r.ReplayID == j.ID })
		if taken, _ := o.replays.Taken(j.ID); j.NotReached > 0 && !underWay && taken > 0 {
			now.Finished--
		}
	}
	if !o.before.At.IsZero() {
		for i := range now.Replays {
			now.Replays[i].Pace(o.before.Replays, now.At.Sub(o.before.At))
		}
	}
	o.before = now
	return now, nil
}

// Foreign returns the outcomes that do not count, as of the last look.
func (o *Overview) Foreign() states.Foreign { return o.replays.Foreign() }
