package session

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
)

// skip moves a partition's position to an offset, because the log starts there, and records the loss. The mutex is held.
func (s *Session) skip(l *partition.Partition, to int64) {
	from := l.Expected()
	if from < 0 || to <= from {
		return
	}
	gone := to - from - l.Window.RestoredIn(from, to)
	l.Window.Pass(to - 1)
	l.End = max(l.End, to)
	s.lazy = true
	if gone <= 0 {
		return
	}
	s.losses = append(s.losses, retrytopics.Loss{Topic: l.Topic, Partition: l.Partition, From: from, To: to, Records: gone})
	s.in.Cfg.Logger.Error("records were deleted before they were consumed, by retention or by an operator",
		"topic", l.Topic, "partition", l.Partition, "from", from, "to", to, "records", gone)
}

// skipGaps moves the partitions whose log starts after their position, and reports whether there were any. The client
// must then seek, since it may still return deleted records.
func (s *Session) skipGaps() (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.partitions {
		if at := l.Expected(); at >= 0 && l.Start > at {
			some = true
			s.skip(l, l.Start)
		}
	}
	return some
}

// arrive records a gap before the records of a fetch.
func (s *Session) arrive(l *partition.Partition, p *kgo.FetchPartition) {
	if len(p.Records) == 0 || p.LogStartOffset <= l.Expected() {
		return
	}
	s.skip(l, min(p.LogStartOffset, p.Records[0].Offset))
}

// passed returns the losses that the positions of a transaction pass over. The mutex is held.
func (s *Session) passed() (passed []retrytopics.Loss) {
	for _, loss := range s.losses {
		if l := s.partitions[partition.ID{Topic: loss.Topic, Partition: loss.Partition}]; l != nil && l.Window.Next() >= loss.To {
			passed = append(passed, loss)
		}
	}
	return passed
}

// dropLosses forgets the matching losses: they are committed, or will be found again. The mutex is held.
func (s *Session) dropLosses(meant func(retrytopics.Loss) bool) {
	s.losses = slices.DeleteFunc(s.losses, meant)
}
