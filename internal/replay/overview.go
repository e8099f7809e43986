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
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Overview follows all replays. The first question reads the status topic, each later one what came since. Not safe for concurrent use.
type Overview struct {
	service  *Service
	topic    kadm.TopicID // of the status topic that standing was read from
	standing *standing    // nil before the first question
	ids      idList       // of letters that a replay took
	members  map[string]*members
	reasons  map[idKey]uint32 // why letters are closed, in the words of the standing
	hearings map[string]*hearing
	changes  int // of states, so far
	counted  map[string]counted
	before   Look
}

// Overview begins to follow.
func (s *Service) Overview() *Overview { return &Overview{service: s} }

// Look is what is known of all replays at one time.
type Look struct {
	At        time.Time     `json:"at"`
	AtWork    string        `json:"at_work,omitempty"`   // who changes dead letters at present, since when and what for
	Obstacles []Obstacle    `json:"obstacles,omitempty"` // see [Service.Obstacles]
	Replays   []Underway    `json:"replays"`             // those that are not finished, the one that changed last first
	Jobs      []control.Job `json:"jobs"`                // of all kinds, at work and ended, the one that began last first
	Finished  int           `json:"finished_replays"`    // of which something is still known
}

// Underway is one replay that the consumer has not finished.
type Underway struct {
	ReplayID string `json:"replay_id"`
	Outcome
	Theirs int       `json:"of_other_software,omitzero"` // of those under way: other software has them, and says nothing when it succeeds
	Since  time.Time `json:"since"`                      // when the first of those under way was put back
	Last   time.Time `json:"last"`                       // when a dead letter of it changed last
	// Rate is how many dead letters a second were finished since the look before; nil in the first one.
	Rate *float64 `json:"finished_per_second,omitempty"`
	// Left is how long the rest takes at that rate, in seconds; nil when none was finished.
	Left *float64 `json:"seconds_left,omitempty"`
}

// Look reads what came since the last one. After an error the next one goes on from there.
func (o *Overview) Look(ctx context.Context) (Look, error) {
	s := o.service
	if err := o.read(ctx); err != nil {
		return Look{}, err
	}
	now := Look{At: s.now(), Obstacles: s.Obstacles(ctx)}
	now.Replays, now.Finished = o.standing.replays()
	now.Jobs = []control.Job{}
	if view, err := s.control(ctx); err == nil {
		now.AtWork = s.atWork(view.Lease)
		now.Jobs = append(now.Jobs, s.jobs(view, o.standing)...)
	} // else the obstacles say why the control topic cannot be read
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

// atWork says who holds the lease, and that its holder may have died.
func (s *Service) atWork(l *control.Lease) string {
	switch {
	case l == nil || l.Released:
		return ""
	case s.now().Sub(l.Renewed) > s.leaseLife:
		return fmt.Sprintf("%s; no sign of life since %s", l, l.Renewed.UTC().Format(time.RFC3339))
	}
	return l.String()
}

// read takes over the records of the status topic that it does not know yet. It begins again with a topic that was re-created: such a topic
// has another id, or ends earlier.
func (o *Overview) read(ctx context.Context) error {
	s := o.service
	topic, err := s.statusTopicID(ctx) // before the spans: a topic that is re-created in between is noticed next time
	if err != nil {
		return err
	}
	spans, err := s.statusSpans(ctx)
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

// statusTopicID returns the id of the status topic; zero of what a directory keeps.
func (s *Service) statusTopicID(ctx context.Context) (kadm.TopicID, error) {
	if s.files != nil {
		return kadm.TopicID{}, nil
	}
	return s.topicID(ctx, s.cfg.Topics.DLQStatus)
}

// topicID returns the id of a topic; zero before the topic is made.
func (s *Service) topicID(ctx context.Context, topic string) (kadm.TopicID, error) {
	details, err := kadm.NewClient(s.client).ListTopics(ctx, topic)
	if err != nil {
		return kadm.TopicID{}, fmt.Errorf("look up topic %s: %w", topic, kafka.DeniedTopic("Describe", topic, err))
	}
	return details[topic].ID, nil
}

// replays counts the dead letters of each replay that is not finished. What an operator did with one since is no outcome.
func (s *standing) replays() (underway []Underway, finished int) {
	all := map[uint32]*Underway{}
	for _, m := range s.marks {
		if s.words.list[m.replay] == "" {
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

// pace tells how fast the consumer finishes, from the look before.
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
