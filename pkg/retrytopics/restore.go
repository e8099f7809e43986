package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// restore reads the state of new partitions before they start: the order of their keys, and what took effect in the
// window. Rebalances wait meanwhile.
func (s *session) restore(ctx context.Context) error {
	s.mu.Lock()
	fresh := map[int32]*partitionState{}
	for p, sh := range s.states {
		if !sh.restored {
			fresh[p] = sh
		}
	}
	s.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	began := time.Now()
	if s.layout.States {
		err := s.replay(ctx, s.e.cfg.Ordering.StateTopic, time.Time{}, fresh, func(sh *partitionState, r *kgo.Record) error {
			return sh.restoreState(r)
		})
		if err != nil {
			return err
		}
	}
	if err := s.restoreLedgers(ctx, fresh, s.e.now()); err != nil {
		return err
	}
	if err := s.resumeFromCheckpoint(ctx, fresh); err != nil {
		return err
	}
	if t := s.e.cfg.Journal.HashChain; t.on() {
		err := s.replay(ctx, t.HeadTopic, time.Time{}, fresh, func(sh *partitionState, r *kgo.Record) error {
			sh.head = r.Value
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range fresh {
		sh.open()
	}
	versions := 0
	for _, sh := range fresh {
		versions += sh.memory.Size().Versions
	}
	s.e.cfg.Logger.InfoContext(ctx, "partitions started", "partitions", len(fresh), "versions", versions, "restored_in", time.Since(began).String())
	s.e.forgotten.Say(s.e.cfg.Logger, s.e.cfg.Ordering.Versions.MaxKeys, time.Now())
	return nil
}

// replay calls f with all committed records of a topic in the states' partitions. It reads up to the high watermark, not
// only to the last stable offset: the former owner's last transaction is decided, since its offsets were, but its marker
// may not have reached this topic. It waits until the broker ends a dead owner's open transaction.
func (s *session) replay(ctx context.Context, topic string, since time.Time, states map[int32]*partitionState, f func(*partitionState, *kgo.Record) error) error {
	left, start, err := s.extent(ctx, topic, since, states)
	if err != nil || len(left) == 0 {
		return err
	}
	reader, err := kgo.NewClient(append(s.e.access.ClientOptions(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	if err != nil {
		return fmt.Errorf("read %s: %w", topic, err)
	}
	defer reader.Close()
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, s.e.denial("Read", "topic "+topic, err))
		}
		for r := range fetches.RecordsAll() {
			if end, ok := left[r.Partition]; ok && r.Offset >= end-1 {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() {
				continue
			}
			if err := f(states[r.Partition], r); err != nil {
				why := ErrAlienMemory
				if errors.Is(err, statetopic.ErrNewer) || errors.Is(err, idempotency.ErrNewerLedger) {
					why = errNewerMemory
				}
				return fmt.Errorf("%w: %s: %w", why, header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}, err)
			}
		}
	}
	return nil
}

// extent returns the ends of the partitions that hold records, and the start offsets.
func (s *session) extent(ctx context.Context, topic string, since time.Time, states map[int32]*partitionState) (map[int32]int64, map[int32]kgo.Offset, error) {
	ends, err := s.adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, nil, fmt.Errorf("end of %s: %w", topic, err)
	}
	var starts kadm.ListedOffsets
	if since.IsZero() {
		starts, err = s.adm.ListStartOffsets(ctx, topic)
	} else {
		starts, err = s.adm.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topic)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start of %s: %w", topic, err)
	}
	left, start := map[int32]int64{}, map[int32]kgo.Offset{}
	for p, sh := range states {
		from, _ := starts.Lookup(topic, p)
		from.Offset = max(from.Offset, sh.forgotten(topic, s.e.cfg.Dedupe.LedgerTopic))
		to, ok := ends.Lookup(topic, p)
		if !ok {
			return nil, nil, fmt.Errorf("the brokers do not know partition %d of %s", p, topic)
		}
		if err := errors.Join(from.Err, to.Err); err != nil {
			return nil, nil, fmt.Errorf("partition %d of %s cannot be read: %w", p, topic, s.e.denial("Describe", "topic "+topic, err))
		}
		if to.Offset > from.Offset {
			left[p], start[p] = to.Offset, kgo.NewOffset().At(from.Offset)
		}
	}
	return left, start, nil
}

// restoreLedgers reads what took effect within the window, after the checkpoints are read.
func (s *session) restoreLedgers(ctx context.Context, states map[int32]*partitionState, now time.Time) error {
	d := s.e.cfg.Dedupe
	if !d.on() {
		return nil
	}
	if err := s.rescale(ctx, states); err != nil {
		return err
	}
	return s.replay(ctx, d.LedgerTopic, now.Add(-d.Window), states, func(sh *partitionState, r *kgo.Record) error {
		return sh.memory.RestoreLedger(r.Value, now, sh.checkpoint != nil && r.Offset < sh.checkpoint.ScaleFrom)
	})
}

// rescale handles partitions whose ledger has versions of another scale: it stores the current end of the ledger in
// their checkpoints, before which that scale applies.
func (s *session) rescale(ctx context.Context, states map[int32]*partitionState) error {
	scale, topic := s.e.cfg.scale(), s.e.cfg.Dedupe.LedgerTopic
	var ends kadm.ListedOffsets
	for p, sh := range states {
		if sh.checkpoint == nil || !sh.checkpoint.Scale.Differs(scale) {
			continue
		}
		if ends == nil {
			var err error
			if ends, err = s.adm.ListEndOffsets(ctx, topic); err != nil {
				return fmt.Errorf("end of %s: %w", topic, err)
			}
			s.e.cfg.Logger.WarnContext(ctx, "versions are read from another place than before; what took effect before counts by its source offset",
				"versions", s.e.cfg.Ordering.Versions.Of, "scale_before", string(sh.checkpoint.Scale), "scale", string(scale))
		}
		end, ok := ends.Lookup(topic, p)
		if !ok {
			return fmt.Errorf("the brokers do not know partition %d of %s", p, topic)
		}
		if end.Err != nil {
			return fmt.Errorf("end of partition %d of %s cannot be read: %w", p, topic, s.e.denial("Describe", "topic "+topic, end.Err))
		}
		sh.checkpoint.Scale, sh.checkpoint.ScaleFrom = scale, end.Offset
	}
	return nil
}
