package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/topics"
)

// ErrReplaysMayWait marks a topic state in which no replay can be called lost: the source has unread records, or a
// retry topic has waiting ones. Match it with errors.Is.
var ErrReplaysMayWait = errors.New("a replay may still be among the records that the consumer has not finished")

// onlyReplaying returns the selection of [Service.ReopenLost]: dead letters that are replaying.
func onlyReplaying(f deadletters.Filter) (deadletters.Filter, error) {
	replaying := []deadletters.Status{deadletters.Replaying}
	if len(f.Statuses) > 0 && !slices.Equal(f.Statuses, replaying) {
		return f, fmt.Errorf("%w: lost replays have the status replaying, but statuses %v were selected", operation.ErrOptions, f.Statuses)
	}
	f.Statuses = replaying
	return f, f.Check()
}

// LostSelection returns the filter of [Service.ReopenLost] for a dry run. It returns an error if the filter names
// another status, and [ErrReplaysMayWait].
func (s *Service) LostSelection(ctx context.Context, f deadletters.Filter) (deadletters.Filter, error) {
	f, err := onlyReplaying(f)
	if err != nil {
		return f, err
	}
	return f, s.finished(ctx)
}

// ReopenLost sets dead letters whose replay is lost to pending. A replay is lost if the dead letter is replaying and
// the consumer has finished all records. The consumer writes the outcome of a replay in the transaction that finishes
// it, so a lost replay never gets one: its record was deleted with its topic, or by retention, before the consumer
// read it (docs/decisions/0089). ReopenLost reads the states before the offsets, and again before it changes them. It
// leaves a dead letter that was replayed in between.
func (s *Service) ReopenLost(ctx context.Context, f deadletters.Filter, c operation.Call, confirm Confirm) (ChangeResult, error) {
	f, err := onlyReplaying(f)
	if err != nil {
		return ChangeResult{}, err
	}
	op, chosen, err := s.startChange(ctx, string(Reopen), f, c)
	if err != nil || len(chosen.positions) == 0 {
		return ChangeResult{}, err
	}
	if err := s.finished(ctx); err != nil {
		return ChangeResult{}, err
	}
	return s.change(ctx, op, chosen.positions, confirm, func(_ context.Context, st *states.Table, l *deadletters.Letter) (decision, error) {
		return s.reopenedLost(op, chosen.states, st, l)
	})
}

// reopenedLost stages the change of one dead letter if its state is unchanged since the offsets were read. Otherwise
// it returns why the letter is left.
func (s *Service) reopenedLost(op operation.Operation, before, now *states.Table, l *deadletters.Letter) (decision, error) {
	prev, why := now.Of(l.ID)
	if why != "" {
		return leave(why), nil
	}
	then, _ := before.Of(l.ID)
	switch {
	case deadletters.OfOtherSoftware(prev.ID):
		return leave("other software has it and does not report successes: look there, then reopen or discard it by its id"), nil
	case prev.Status != deadletters.Replaying:
		return leave(fmt.Sprintf("it is %s%s now", prev.Status, since(prev))), nil
	case prev.ReplayID != then.ReplayID || !prev.At.Equal(then.At) || prev.ReprocessCount != then.ReprocessCount:
		return leave("it was replayed again meanwhile"), nil
	}
	return s.stage(op, deadletters.Pending, prev, l)
}

// finished returns nil if the source has no unread records and no retry topic has waiting ones. It counts up to the
// ends behind open transactions, since a replayed record can follow one.
func (s *Service) finished(ctx context.Context) error {
	all, err := topics.Backlogs(ctx, kadm.NewClient(s.client), s.cfg, kafka.Written)
	if err != nil {
		return err
	}
	var waits []string
	for _, t := range all {
		if n := t.Lag(); n > 0 {
			waits = append(waits, fmt.Sprintf("%s: %d", t.Topic, n))
		}
	}
	if len(waits) > 0 {
		return fmt.Errorf("%w (records not finished, at most: %s); try again once `consumer status` shows no lag and nothing waiting", ErrReplaysMayWait, strings.Join(waits, ", "))
	}
	return nil
}
