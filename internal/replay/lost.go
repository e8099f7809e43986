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
	"github.com/switchback-geo/switchback/internal/topics"
)

// ErrReplaysMayWait marks that a replay cannot be called lost: something is unread, or waits for its retry. Match it with errors.Is.
var ErrReplaysMayWait = errors.New("a replay may still be among what the consumer has not finished")

// onlyReplaying is the selection of [Service.ReopenLost]: what is replaying.
func onlyReplaying(f deadletters.Filter) (deadletters.Filter, error) {
	replaying := []deadletters.Status{deadletters.Replaying}
	if len(f.Statuses) > 0 && !slices.Equal(f.Statuses, replaying) {
		return f, fmt.Errorf("%w: what is lost is replaying, and statuses %v were selected", ErrOptions, f.Statuses)
	}
	f.Statuses = replaying
	return f, f.Check()
}

// LostSelection is the filter of [Service.ReopenLost] for a dry run. The error is that of a filter for another status, or
// [ErrReplaysMayWait].
func (s *Service) LostSelection(ctx context.Context, f deadletters.Filter) (deadletters.Filter, error) {
	f, err := onlyReplaying(f)
	if err != nil {
		return f, err
	}
	return f, s.finished(ctx)
}

// ReopenLost makes dead letters pending whose replay is lost: they are replaying, and the consumer has finished everything that there
// is. It writes what became of a replay in the transaction that finishes it, so of these it never will: the record was deleted with
// its topic, or by retention, before it was read (docs/decisions/0089). The states are read before the offsets, and again before they
// are changed: what was replayed in between is left.
func (s *Service) ReopenLost(ctx context.Context, f deadletters.Filter, c Call, confirm Confirm) (ChangeResult, error) {
	f, err := onlyReplaying(f)
	if err != nil {
		return ChangeResult{}, err
	}
	op, chosen, err := s.beginning(ctx, string(Reopen), f, c)
	if err != nil || len(chosen.places) == 0 {
		return ChangeResult{}, err
	}
	if err := s.finished(ctx); err != nil {
		return ChangeResult{}, err
	}
	return s.change(ctx, op, chosen.places, confirm, func(_ context.Context, st *standing, l *deadletters.Letter) (decision, error) {
		return s.reopenedLost(op, chosen.standing, st, l)
	})
}

// reopenedLost stages the change of one dead letter whose state is what it was before the offsets were read, or says why it is left.
func (s *Service) reopenedLost(op operation, before, now *standing, l *deadletters.Letter) (decision, error) {
	prev, why := now.of(l.ID)
	if why != "" {
		return leave(why), nil
	}
	then, _ := before.of(l.ID)
	switch {
	case deadletters.OfOtherSoftware(prev.ID):
		return leave("other software has it, and says nothing when it succeeds: look there, then reopen or discard it by its id"), nil
	case prev.Status != deadletters.Replaying:
		return leave(fmt.Sprintf("it is %s%s by now", prev.Status, since(prev))), nil
	case prev.ReplayID != then.ReplayID || !prev.At.Equal(then.At) || prev.ReprocessCount != then.ReprocessCount:
		return leave("it was replayed again meanwhile"), nil
	}
	return s.stage(op, deadletters.Pending, prev, l)
}

// finished is nil when nothing is unread in the source and nothing waits in a retry topic. The ends are those behind open transactions:
// a replay can lie behind one.
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
