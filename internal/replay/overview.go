package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
)

// Overview follows all replays. The first call reads the status topic, and each later one what is new. It is not safe
// for concurrent use.
type Overview struct {
	service  *Service
	topic    kadm.TopicID // of the status topic that standing was read from
	standing *standing    // nil before the first call
	ids      idList       // of the dead letters of all replays
	members  map[string]*members
	reasons  map[idKey]uint32 // why dead letters are closed: indexes in the words of the standing
	hearings map[string]*hearing
	changes  int // number of state changes so far
	counted  map[string]counted
	before   Look
}

// Overview returns an Overview that has read nothing yet.
func (s *Service) Overview() *Overview { return &Overview{service: s} }

// Look is the state of all replays at one time.
type Look struct {
	At        time.Time     `json:"at"`
	AtWork    string        `json:"at_work,omitempty"`   // which replayer is running, since when and for which operation
	Obstacles []Obstacle    `json:"obstacles,omitempty"` // see [Service.Obstacles]
	Replays   []Underway    `json:"replays"`             // unfinished replays, the last changed first
	Jobs      []control.Job `json:"jobs"`                // of all kinds, running and ended, the last begun first
	Finished  int           `json:"finished_replays"`    // number of finished replays with a state
}

// Underway is one replay that the consumer has not finished.
type Underway struct {
	ReplayID string `json:"replay_id"`
	Outcome
	Theirs int       `json:"of_other_software,omitzero"` // of those under way: in other software, which reports no success
	Since  time.Time `json:"since"`                      // when the first of those under way was put back
	Last   time.Time `json:"last"`                       // when a dead letter of it last changed
	// Rate is the number of dead letters finished per second since the previous look; nil in the first look.
	Rate *float64 `json:"finished_per_second,omitempty"`
	// Left is the time for the rest at that rate, in seconds; nil if the rate is 0.
	Left *float64 `json:"seconds_left,omitempty"`
}

// Look reads what is new and returns the state of all replays. After an error, the next call continues.
func (o *Overview) Look(ctx context.Context) (Look, error) {
	s := o.service
	if err := o.read(ctx); err != nil {
		return Look{}, err
	}
	now := Look{At: s.now(), Obstacles: s.Obstacles(ctx)}
	now.Replays, now.Finished = o.standing.replays()
	now.Jobs = []control.Job{}
	if view, err := s.store.Control(ctx); err == nil {
		now.AtWork = s.atWork(view.Lease)
		now.Jobs = append(now.Jobs, s.jobs(view, o.standing)...)
	} // if not, the obstacles say why the control topic is unreadable
	for _, j := range now.Jobs {
		underWay := slices.ContainsFunc(now.Replays, func(r Underway) bool { return r.ReplayID == j.ID })
		if j.NotReached > 0 && !underWay && o.standing.taken(j.ID) > 0 {
			now.Finished--
		}
	}
	for i := range now.Replays {
		now.Replays[i].pace(o.before, now.At)
	}
	o.before = now
	return now, nil
}

// Foreign returns the outcomes that do not count, as of the last look.
func (o *Overview) Foreign() Foreign { return o.standing.foreign }

// atWork describes the holder of the lease, and says if it may have died.
func (s *Service) atWork(l *control.Lease) string {
	switch {
	case l == nil || l.Released:
		return ""
	case s.now().Sub(l.Renewed) > s.leaseLife:
		return fmt.Sprintf("%s; no sign of life since %s", l, l.Renewed.UTC().Format(time.RFC3339))
	}
	return l.String()
}

// read reads the new records of the status topic. It starts again if the topic was re-created: such a topic has
// another ID, or ends earlier.
func (o *Overview) read(ctx context.Context) error {
	s := o.service
	topic, err := s.store.StatusTopicID(ctx) // before the spans: the next call notices a topic that is re-created in between
	if err != nil {
		return err
	}
	spans, err := s.store.StatusSpans(ctx)
	if err != nil {
		return err
	}
	shrunk := func(p int32) bool { return spans[p].End < o.standing.ends[p] }
	if o.standing == nil || topic != o.topic || slices.ContainsFunc(slices.Collect(maps.Keys(spans)), shrunk) {
		o.topic, o.standing = topic, newStanding(s.cfg.DeadLetters.MaxReplays, "")
		o.ids, o.members, o.reasons, o.hearings = idList{}, map[string]*members{}, map[idKey]uint32{}, map[string]*hearing{}
		o.counted = map[string]counted{}
	}
	if err := s.followStates(ctx, spans, o.standing.ends, o.take); err != nil {
		return fmt.Errorf("states of the dead letters: %w", err)
	}
	return nil
}

// replays counts the dead letters of each unfinished replay, and the finished replays. A later decision of an
// operator is not an outcome.
func (s *standing) replays() (underway []Underway, finished int) {
	all := map[uint32]*Underway{}
	for _, m := range s.marks {
		if m.replay == 0 {
			continue
		}
		r := all[m.replay]
		if r == nil {
			r = &Underway{ReplayID: s.words.list[m.replay]}
			all[m.replay] = r
		}
		r.count(m)
	}
	for _, r := range all {
		if r.UnderWay == 0 {
			finished++
			continue
		}
		underway = append(underway, *r)
	}
	slices.SortFunc(underway, func(a, b Underway) int {
		if c := b.Last.Compare(a.Last); c != 0 {
			return c
		}
		return strings.Compare(a.ReplayID, b.ReplayID)
	})
	return underway, finished
}

func (r *Underway) count(m mark) {
	at := time.UnixMilli(m.at).UTC()
	if at.After(r.Last) {
		r.Last = at
	}
	of := m.fate()
	r.add(of, "", 1)
	if of != fateUnderWay {
		return
	}
	if m.has(theirs) {
		r.Theirs++
	}
	if r.Since.IsZero() || at.Before(r.Since) {
		r.Since = at
	}
}

// pace sets the rate and the remaining time from the previous look.
func (r *Underway) pace(before Look, now time.Time) {
	elapsed := now.Sub(before.At).Seconds()
	if before.At.IsZero() || elapsed <= 0 {
		return
	}
	was := 0
	for _, b := range before.Replays {
		if b.ReplayID == r.ReplayID {
			was = b.Finished()
		}
	}
	rate := max(0, float64(r.Finished()-was)/elapsed)
	r.Rate = &rate
	if rate > 0 {
		left := float64(r.UnderWay-r.Theirs) / rate
		r.Left = &left
	}
}
