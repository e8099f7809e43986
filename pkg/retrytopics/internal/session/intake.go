package session

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// accept adds the records of a poll to their partitions and passes them to the scheduler.
func (s *Session) accept(fetches kgo.Fetches) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.in.Attempts.Now()
	records := s.arrived[:0]
	var refused error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if refused != nil || p.Topic == "" || p.Partition < 0 {
			return
		}
		l := s.partitions[partition.ID{Topic: p.Topic, Partition: p.Partition}]
		if l == nil {
			return // assigned to another member; the client does not know it yet
		}
		l.End = max(l.End, p.LastStableOffset)
		s.arrive(l, &p.FetchPartition)
		for _, r := range p.Records {
			if !l.Window.Expects(r.Offset) {
				refused = &topics.DisorderError{Topic: l.Topic, Partition: l.Partition, Offset: r.Offset, Committed: l.Committed.Offset}
				return
			}
			if s.ofOtherPipeline(l, r) {
				s.leaveToOwner(l, r)
				continue
			}
			if a, ok := s.accepted(l, r, now); ok {
				records = append(records, a)
			}
		}
	})
	if refused != nil {
		return refused
	}
	s.balance(false)
	s.Sched.Add(records)
	clear(records)
	s.arrived = records
	return nil
}

// maxSkew is how far a record's timestamp may lie ahead of this instance's clock before the record is counted.
const maxSkew = time.Second

// accepted adds one record. ok is false for a transaction marker.
func (s *Session) accepted(l *partition.Partition, r *kgo.Record, now time.Time) (a schedule.Record, ok bool) {
	l.End = max(l.End, r.Offset+1)
	if r.Attrs.IsControl() {
		l.Window.Pass(r.Offset)
		s.lazy = true
		return schedule.Record{}, false
	}
	fresh := l.Window.Add(r.Offset)
	a = schedule.Record{Partition: l.Sched, Index: l.Fetched, Restored: int64(len(l.Window.Restored()))}
	l.Fetched++
	if !fresh {
		s.lazy = true
		return a, true
	}
	if r.Timestamp.After(now.Add(maxSkew)) {
		s.in.Skewed.Add(1)
	}
	l.Stamp(r)
	l.Hold(r.Offset, attempt.Size(r))
	a.Raw = r
	if l.Tier != schedule.Source || s.budget.Bulky() {
		partition.Detach(r)
	}
	at := header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	refused := s.refused[at]
	before, known := s.in.Results.Pop(at)
	if l.Tier == schedule.Source && refused == nil && !known {
		return a, true
	}
	t := partition.Fill(s.in, &partition.Task{}, l, r, a.Index, now) // not from the partition's slab, which belongs to the scheduler
	if known {
		t.Answer = &before
	}
	if refused != nil && refused.output {
		t.Refused = &fit.OutputError{Err: refused.err}
	}
	t.PointerOnly = refused != nil && !refused.output
	a.Task = &t.Task.Task
	return a, true
}

// room returns how many records a poll may take: the remaining room of the source partitions that are not paused or,
// if all are paused, of the retry partitions. It returns 0 if the room is too small for a poll of the source.
//
// Bounding the polls avoids pauses. A pause discards what the client has fetched, and a resumed partition waits for
// the fetch in flight, at worst a quarter of a second.
func (s *Session) room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	shares := partition.SharesOf(&s.in.Cfg, s.partitions)
	share, left := s.mayHold(shares.Source, func(l *partition.Partition) bool { return l.Tier == schedule.Source })
	switch {
	case share.Records == 0:
		_, left = s.mayHold(shares.Retry, func(l *partition.Partition) bool { return l.Tier != schedule.Source })
		return min(max(left.Records, minPoll), maxPoll)
	case left.Records < share.Records/8 || left.Bytes < share.Bytes/8:
		return 0
	}
	return min(left.Records, maxPoll)
}

// mayHold returns the total room of the partitions of a kind that are not paused, and how much of it is left. The
// mutex is held.
func (s *Session) mayHold(share partition.Limits, of func(*partition.Partition) bool) (all, left partition.Limits) {
	for _, l := range s.partitions {
		if of(l) && !l.Paused {
			all.Records, all.Bytes = all.Records+share.Records, all.Bytes+share.Bytes
			left.Records, left.Bytes = left.Records+share.Records-l.Held, left.Bytes+share.Bytes-l.HeldBytes
		}
	}
	return all, left
}

// patience is how long a session without room waits for results before it pauses the partitions that have too many
// records. Meanwhile it fetches nothing from the retry topics either; their records are fetched long before they are
// due.
const patience = 50 * time.Millisecond

// awaitResults waits for results to commit, which make room. It returns false if none come for so long that handlers
// must be slow or waiting.
func (s *Session) awaitResults(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-s.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// relieve pauses the source partitions that have used up their room, so that retry topics and other partitions
// continue, and returns how many records a poll may then return.
func (s *Session) relieve() int {
	s.mu.Lock()
	s.balance(true)
	s.mu.Unlock()
	return max(s.room(), minPoll)
}

// balance resumes the partitions that have room again, and pauses the retry partitions that have used up their room;
// with source, source partitions too. The mutex is held.
func (s *Session) balance(source bool) {
	shares := partition.SharesOf(&s.in.Cfg, s.partitions)
	pause, resume := map[string][]int32{}, map[string][]int32{}
	for _, l := range s.partitions {
		lim := shares.Of(l)
		switch {
		case !l.Paused && l.Full(lim) && (source || l.Tier != schedule.Source):
			l.Paused = true
			pause[l.Topic] = append(pause[l.Topic], l.Partition)
		case l.Paused && l.Roomy(lim) && !time.Now().Before(l.FetchAt):
			l.Paused = false
			resume[l.Topic] = append(resume[l.Topic], l.Partition)
		}
	}
	if len(pause) > 0 {
		s.Committer.Client().PauseFetchPartitions(pause)
	}
	if len(resume) > 0 {
		s.Committer.Client().ResumeFetchPartitions(resume)
	}
}

const (
	// fetchPause is how long a partition is not read after its fetch failed. Brokers answer such a fetch at once (for
	// example if the topic was deleted), and the client would ask again at once: thousands of requests a second.
	fetchPause = time.Second
	// fetchTold is the shortest time between two log lines about the failing fetches of a partition.
	fetchTold = time.Minute
)

// pauseFetch pauses one partition whose fetch failed, until balance resumes it.
func (s *Session) pauseFetch(ctx context.Context, fe kgo.FetchError) {
	now, tell := time.Now(), true
	s.mu.Lock()
	if l := s.partitions[partition.ID{Topic: fe.Topic, Partition: fe.Partition}]; l != nil {
		tell = now.Sub(l.FetchTold) >= fetchTold
		if tell {
			l.FetchTold = now
		}
		l.Paused, l.FetchAt = true, now.Add(fetchPause)
		s.Committer.Client().PauseFetchPartitions(map[string][]int32{fe.Topic: {fe.Partition}})
	}
	s.mu.Unlock()
	if tell {
		s.in.Cfg.Logger.WarnContext(ctx, "fetch failed, will be tried again", "topic", fe.Topic, "partition", fe.Partition, "every", fetchPause, "error", fe.Err)
	}
}

// Retry topics belong to one pipeline. If two pipelines are configured with one tier prefix, a new one is refused at
// its start. A running one ignores the records of the other: it does not retry them, and it does not purge the topic.

// ofOtherPipeline reports whether a record of a retry topic is another pipeline's. A record without a pipeline is
// foreign in a former tier; in a tier of this pipeline it is a malformed record of its own. The mutex is held.
func (s *Session) ofOtherPipeline(l *partition.Partition, r *kgo.Record) bool {
	if l.Tier == schedule.Source || r.Attrs.IsControl() {
		return false
	}
	writer := topics.WriterOf(r)
	if writer == "" {
		former := l.Tier >= len(s.in.Cfg.Retries.Tiers)
		return former && (l.Shared || l.Committed.Offset < 0)
	}
	return writer != s.in.Cfg.Origin.Pipeline && !slices.Contains(l.State.Pipelines, writer)
}

// leaveToOwner skips a record of another pipeline, and logs it once per partition. The mutex is held.
func (s *Session) leaveToOwner(l *partition.Partition, r *kgo.Record) {
	l.End = max(l.End, r.Offset+1)
	l.Window.Pass(r.Offset)
	s.lazy = true
	if l.Shared {
		return
	}
	l.Shared = true
	s.in.Cfg.Logger.WarnContext(s.base, "a retry topic has records of another pipeline; they are ignored, and the topic is no longer purged; "+
		"give each pipeline a tier prefix of its own (topics.tier_prefix)",
		"topic", l.Topic, "partition", l.Partition, "offset", r.Offset, "pipeline", header.Clip(topics.WriterOf(r), 80), "own_pipeline", s.in.Cfg.Origin.Pipeline)
}
