package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
)

// Stopped is a replay that did not come to its end.
type Stopped struct {
	ReplayID string    `json:"replay_id"`
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	Letters  int       `json:"letters"`           // of its plan
	NotSent  int       `json:"not_sent"`          // of them: not reached
	Why      string    `json:"why"`               // it stopped
	At       time.Time `json:"at"`                // when it stopped, or was begun when its replayer died
	Command  string    `json:"command,omitempty"` // that goes on with it
}

// begins notes that the replay is at work, for the case that its replayer dies. The replay does not depend on it.
func (r *replaying) begins(ctx context.Context) {
	note := r.note()
	note.Running = true
	r.noted = r.tell(ctx, func(ctx context.Context, l *control.Leases) error { return l.PutReplay(ctx, note) })
}

// ended notes how the replay ended. One that left nothing unsent has come to its end, whatever became of its letters.
func (r *replaying) ended(ctx context.Context, err error) {
	r.tell(ctx, func(ctx context.Context, l *control.Leases) error {
		if err == nil || r.result.NotReached == 0 {
			return l.RemoveReplay(ctx, r.plan.ID)
		}
		note := r.note()
		note.NotSent, note.Why = r.result.NotReached, err.Error()
		return l.PutReplay(ctx, note)
	})
}

func (r *replaying) note() control.Replay {
	return control.Replay{
		ID: r.plan.ID, By: r.op.by, Reason: r.op.reason, Command: r.options.GoOn, Letters: r.plan.Letters, At: r.service.now(),
	}
}

// tell writes to the control topic and reports whether that succeeded.
func (r *replaying) tell(ctx context.Context, write func(context.Context, *control.Leases) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.service.lastWord)
	defer cancel()
	leases, err := control.OpenLeases(r.service.opts, r.service.cfg.Topics.Control)
	if err == nil {
		defer leases.Close()
		err = write(ctx, leases)
	}
	if err != nil {
		r.service.log.Warn("replayer replays will not know how this replay ended", "replay_id", r.plan.ID, "error", err)
	}
	return err == nil
}

// Stopped lists the replays that did not come to their end, the latest first. They are forgotten after dead_letters.keep_resolved.
func (s *Service) Stopped(ctx context.Context) ([]Stopped, error) {
	st, err := s.loadStanding(ctx)
	if err != nil {
		return nil, err
	}
	view, err := control.Read(ctx, s.opts, s.cfg.Topics.Control)
	if err != nil {
		return nil, err
	}
	return s.stopped(view, st), nil
}

// stopped finds the replays of a control topic that are neither at work nor at their end.
func (s *Service) stopped(view control.View, st *standing) []Stopped {
	var out []Stopped
	for _, r := range view.Replays {
		if s.now().Sub(r.At) > s.KeepResolved() {
			continue
		}
		stop := Stopped{ReplayID: r.ID, By: r.By, Reason: r.Reason, Letters: r.Letters, NotSent: r.NotSent, Why: r.Why, At: r.At, Command: r.Command}
		if r.Running {
			if l := view.Lease; l != nil && !l.Released && l.Operation == r.ID && s.now().Sub(l.Renewed) <= s.leaseLife {
				continue
			}
			stop.NotSent = max(0, r.Letters-st.taken(r.ID))
			stop.Why = "its replayer ended without a word: it was killed, or lost the brokers"
			if stop.NotSent == 0 {
				continue
			}
		}
		out = append(out, stop)
	}
	slices.SortFunc(out, func(a, b Stopped) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ReplayID, b.ReplayID)) })
	return out
}

// String says what is left, and why.
func (s Stopped) String() string {
	return fmt.Sprintf("%s: %d of %d dead letters were not sent; %s", s.ReplayID, s.NotSent, s.Letters, s.Why)
}
