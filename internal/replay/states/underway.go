package states

import (
	"slices"
	"strings"
	"time"
)

// Underway is one replay that the consumer has not finished.
type Underway struct {
	ReplayID string `json:"replay_id"`
	Counts
	Theirs int       `json:"of_other_software,omitzero"` // of those under way: in other software, which reports no success
	Since  time.Time `json:"since"`                      // when the first of those under way was put back
	Last   time.Time `json:"last"`                       // when a dead letter of it last changed
	// Rate is the number of dead letters finished per second since the previous look; nil in the first look.
	Rate *float64 `json:"finished_per_second,omitempty"`
	// Left is the time for the rest at that rate, in seconds; nil if the rate is 0.
	Left *float64 `json:"seconds_left,omitempty"`
}

// unfinished counts the dead letters of each unfinished replay, and the finished replays. A later decision of an
// operator is not an outcome.
func (s *Table) unfinished() (underway []Underway, finished int) {
	all := map[uint32]*Underway{}
	for _, m := range s.entries {
		if m.replay == 0 {
			continue
		}
		r := all[m.replay]
		if r == nil {
			r = &Underway{ReplayID: s.texts.list[m.replay]}
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

func (r *Underway) count(m entry) {
	at := time.UnixMilli(m.at).UTC()
	if at.After(r.Last) {
		r.Last = at
	}
	of := m.outcome()
	r.add(of, "", 1)
	if of != underWay {
		return
	}
	if m.has(foreign) {
		r.Theirs++
	}
	if r.Since.IsZero() || at.Before(r.Since) {
		r.Since = at
	}
}

// Pace sets the rate and the remaining time from all replays that were unfinished earlier.
func (r *Underway) Pace(before []Underway, elapsed time.Duration) {
	if elapsed <= 0 {
		return
	}
	was := 0
	for _, b := range before {
		if b.ReplayID == r.ReplayID {
			was = b.Finished()
		}
	}
	rate := max(0, float64(r.Finished()-was)/elapsed.Seconds())
	r.Rate = &rate
	if rate > 0 {
		left := float64(r.UnderWay-r.Theirs) / rate
		r.Left = &left
	}
}
