package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Replay calls f with all committed records of a memory topic in the states' partitions, except for those that a
// checkpoint invalidates.
func Replay(ctx context.Context, in *instance.Instance, adm *kadm.Client, topic string, since time.Time, states map[int32]*State, f func(*State, *kgo.Record) error) error {
	from := func(yield func(int32, int64) bool) {
		for p, state := range states {
			if !yield(p, state.Forgotten(topic, in.Cfg.Dedupe.LedgerTopic)) {
				return
			}
		}
	}
	return in.Cluster.Replay(ctx, adm, topic, since, from, func(r *kgo.Record) error {
		err := f(states[r.Partition], r)
		if err == nil {
			return nil
		}
		why := ErrAlienMemory
		if errors.Is(err, statetopic.ErrNewer) || errors.Is(err, idempotency.ErrNewerLedger) {
			why = errNewerMemory
		}
		return fmt.Errorf("%w: %s: %w", why, header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}, err)
	})
}

// RestoreLedgers reads the events that took effect within the window, after the checkpoints are read.
func RestoreLedgers(ctx context.Context, in *instance.Instance, adm *kadm.Client, states map[int32]*State, now time.Time) error {
	d := in.Cfg.Dedupe
	if !d.On() {
		return nil
	}
	if err := rescale(ctx, in, adm, states); err != nil {
		return err
	}
	return Replay(ctx, in, adm, d.LedgerTopic, now.Add(-d.Window), states, func(state *State, r *kgo.Record) error {
		return state.Memory.RestoreLedger(r.Value, now, state.Checkpoint != nil && r.Offset < state.Checkpoint.ScaleFrom)
	})
}

// rescale handles partitions whose ledger has versions of another scale: it stores the current end of the ledger in
// their checkpoints, before which that scale applies.
func rescale(ctx context.Context, in *instance.Instance, adm *kadm.Client, states map[int32]*State) error {
	scale, topic := ScaleOf(&in.Cfg.Ordering), in.Cfg.Dedupe.LedgerTopic
	var ends kadm.ListedOffsets
	for p, state := range states {
		if state.Checkpoint == nil || !state.Checkpoint.Scale.Differs(scale) {
			continue
		}
		if ends == nil {
			var err error
			if ends, err = adm.ListEndOffsets(ctx, topic); err != nil {
				return fmt.Errorf("end of %s: %w", topic, err)
			}
			in.Cfg.Logger.WarnContext(ctx, "versions are read from another place than before; events that took effect before are compared by their source offsets",
				"versions", in.Cfg.Ordering.Versions.Of, "scale_before", string(state.Checkpoint.Scale), "scale", string(scale))
		}
		end, ok := ends.Lookup(topic, p)
		if !ok {
			return fmt.Errorf("the brokers have no partition %d of %s", p, topic)
		}
		if end.Err != nil {
			return fmt.Errorf("end of partition %d of %s cannot be read: %w", p, topic, in.Denial("Describe", "topic "+topic, end.Err))
		}
		state.Checkpoint.Scale, state.Checkpoint.ScaleFrom = scale, end.Offset
	}
	return nil
}
