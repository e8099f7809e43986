package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// replay calls f with all committed records of a memory topic in the states' partitions, but for those that a checkpoint
// forgets.
func replay(ctx context.Context, in *instance, adm *kadm.Client, topic string, since time.Time, states map[int32]*partitionState, f func(*partitionState, *kgo.Record) error) error {
	from := func(yield func(int32, int64) bool) {
		for p, state := range states {
			if !yield(p, state.forgotten(topic, in.cfg.Dedupe.LedgerTopic)) {
				return
			}
		}
	}
	return in.cluster.Replay(ctx, adm, topic, since, from, func(r *kgo.Record) error {
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

// restoreLedgers reads what took effect within the window, after the checkpoints are read.
func restoreLedgers(ctx context.Context, in *instance, adm *kadm.Client, states map[int32]*partitionState, now time.Time) error {
	d := in.cfg.Dedupe
	if !d.On() {
		return nil
	}
	if err := rescale(ctx, in, adm, states); err != nil {
		return err
	}
	return replay(ctx, in, adm, d.LedgerTopic, now.Add(-d.Window), states, func(state *partitionState, r *kgo.Record) error {
		return state.memory.RestoreLedger(r.Value, now, state.checkpoint != nil && r.Offset < state.checkpoint.ScaleFrom)
	})
}

// rescale handles partitions whose ledger has versions of another scale: it stores the current end of the ledger in
// their checkpoints, before which that scale applies.
func rescale(ctx context.Context, in *instance, adm *kadm.Client, states map[int32]*partitionState) error {
	scale, topic := scaleOf(&in.cfg.Ordering), in.cfg.Dedupe.LedgerTopic
	var ends kadm.ListedOffsets
	for p, state := range states {
		if state.checkpoint == nil || !state.checkpoint.Scale.Differs(scale) {
			continue
		}
		if ends == nil {
			var err error
			if ends, err = adm.ListEndOffsets(ctx, topic); err != nil {
				return fmt.Errorf("end of %s: %w", topic, err)
			}
			in.cfg.Logger.WarnContext(ctx, "versions are read from another place than before; what took effect before counts by its source offset",
				"versions", in.cfg.Ordering.Versions.Of, "scale_before", string(state.checkpoint.Scale), "scale", string(scale))
		}
		end, ok := ends.Lookup(topic, p)
		if !ok {
			return fmt.Errorf("the brokers do not know partition %d of %s", p, topic)
		}
		if end.Err != nil {
			return fmt.Errorf("end of partition %d of %s cannot be read: %w", p, topic, in.denial("Describe", "topic "+topic, end.Err))
		}
		state.checkpoint.Scale, state.checkpoint.ScaleFrom = scale, end.Offset
	}
	return nil
}
