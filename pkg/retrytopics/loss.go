package retrytopics

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// skip moves a partition's position to an offset, because the log starts there, and records the loss. The mutex is held.
func (s *session) skip(l *partition, to int64) {
	from := l.expected()
	if from < 0 || to <= from {
		return
	}
	gone := to - from - l.window.RestoredIn(from, to)
	l.window.Pass(to - 1)
	l.end = max(l.end, to)
	s.lazy = true
	if gone <= 0 {
		return
	}
	s.losses = append(s.losses, Loss{l.topic, l.partition, from, to, gone})
	s.in.cfg.Logger.Error("records were deleted before they were consumed: retention, or somebody who deletes records",
		"topic", l.topic, "partition", l.partition, "from", from, "to", to, "records", gone)
}

// skipGaps moves the partitions whose log starts after their position, and reports whether there were any. The client
// must then be told, since it may still hold deleted records.
func (s *session) skipGaps() (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.partitions {
		if at := l.expected(); at >= 0 && l.start > at {
			some = true
			s.skip(l, l.start)
		}
	}
	return some
}

// arrive records a gap before the records of a fetch.
func (s *session) arrive(l *partition, p *kgo.FetchPartition) {
	if len(p.Records) == 0 || p.LogStartOffset <= l.expected() {
		return
	}
	s.skip(l, min(p.LogStartOffset, p.Records[0].Offset))
}

// passed returns the losses that the positions of a transaction pass over. The mutex is held.
func (s *session) passed() (passed []Loss) {
	for _, loss := range s.losses {
		if l := s.partitions[topicPartition{loss.Topic, loss.Partition}]; l != nil && l.window.Next() >= loss.To {
			passed = append(passed, loss)
		}
	}
	return passed
}

// dropLosses forgets the matching losses: they are committed, or will be found again. The mutex is held.
func (s *session) dropLosses(meant func(Loss) bool) {
	s.losses = slices.DeleteFunc(s.losses, meant)
}

// lossRecords returns the records that a transaction writes about its losses.
func (s *session) lossRecords(ctx context.Context, losses []Loss) (records []*kgo.Record) {
	if s.in.cfg.Journal.Loss == nil {
		return nil
	}
	for _, l := range losses {
		more, err := s.in.cfg.Journal.Loss(l)
		if err != nil {
			s.in.cfg.Logger.ErrorContext(ctx, "journal failed; the loss is not recorded", "topic", l.Topic, "partition", l.Partition, "error", err)
		}
		records = append(records, more...)
	}
	return records
}
