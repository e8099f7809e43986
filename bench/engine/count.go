package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// count reads a run's output with read_committed. Each event must occur exactly once, because a contender that loses or
// duplicates events is not comparable.
func (b *bench) count(ctx context.Context, s *spec) error {
	ends, err := b.adm.ListCommittedOffsets(ctx, s.output())
	if err != nil {
		return err
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeTopics(s.output()), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	at := map[int32]int64{}
	behind := func() bool {
		for p, o := range ends[s.output()] {
			if at[p] < o.Offset {
				return true
			}
		}
		return false
	}
	seen := make([]int, s.Events)
	for behind() {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", s.output(), err)
		}
		var wrong error
		fetches.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			if r.Attrs.IsControl() {
				return
			}
			n, err := numberOf(r.Value)
			if err != nil || n >= len(seen) {
				wrong = fmt.Errorf("%s partition %d offset %d: no event of this run", r.Topic, r.Partition, r.Offset)
				return
			}
			seen[n]++
		})
		if wrong != nil {
			return wrong
		}
	}
	return tally(s.Run, seen)
}

// tally returns an error if events are missing or duplicated.
func tally(run string, seen []int) error {
	lost, doubled := 0, 0
	for _, n := range seen {
		if n == 0 {
			lost++
		}
		if n > 1 {
			doubled++
		}
	}
	if lost+doubled > 0 {
		return fmt.Errorf("%s: of %d events %d are missing in the output and %d are doubled", run, len(seen), lost, doubled)
	}
	return nil
}
