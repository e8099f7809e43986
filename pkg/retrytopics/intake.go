package retrytopics

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// accept adds the records of a poll to their partitions and hands them to the scheduler.
func (s *session) accept(fetches kgo.Fetches) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.in.attempts.now()
	records := s.arrived[:0]
	var refused error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if refused != nil || p.Topic == "" || p.Partition < 0 {
			return
		}
		l := s.partitions[topicPartition{p.Topic, p.Partition}]
		if l == nil {
			return // assigned to another member; the client does not know it yet
		}
		l.end = max(l.end, p.LastStableOffset)
		s.arrive(l, &p.FetchPartition)
		for _, r := range p.Records {
			if !l.window.Expects(r.Offset) {
				refused = &topics.DisorderError{Topic: l.topic, Partition: l.partition, Offset: r.Offset, Committed: l.committed.Offset}
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
	s.sched.Add(records)
	clear(records)
	s.arrived = records
	return nil
}

// maxSkew is how far the clock that stamped a record may be ahead of ours before the record is counted.
const maxSkew = time.Second

// accepted adds one record. ok is false for a transaction marker.
func (s *session) accepted(l *partition, r *kgo.Record, now time.Time) (a schedule.Record, ok bool) {
	l.end = max(l.end, r.Offset+1)
	if r.Attrs.IsControl() {
		l.window.Pass(r.Offset)
		s.lazy = true
		return schedule.Record{}, false
	}
	fresh := l.window.Add(r.Offset)
	a = schedule.Record{Partition: l.sched, Index: l.fetched, Restored: int64(len(l.window.Restored()))}
	l.fetched++
	if !fresh {
		s.lazy = true
		return a, true
	}
	if r.Timestamp.After(now.Add(maxSkew)) {
		s.in.skewed.Add(1)
	}
	l.stamp(r)
	l.hold(r.Offset, size(r))
	a.Raw = r
	if l.tier != sourceTier || s.budget.Bulky() {
		detach(r)
	}
	at := header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	refused := s.refused[at]
	before, known := s.in.results.pop(at)
	if l.tier == sourceTier && refused == nil && !known {
		return a, true
	}
	t := fill(s.in, &heldTask{}, l, r, a.Index, now) // not from the partition's slab, which belongs to the scheduler
	if known {
		t.made = &before
	}
	if refused != nil && refused.output {
		t.refused = &fit.OutputError{Err: refused.err}
	}
	t.pointerOnly = refused != nil && !refused.output
	a.Task = &t.Task
	return a, true
}

// detach copies the bytes of a record that may wait. The client's bytes would keep the broker's whole response in
// memory, megabytes of other partitions' records.
func detach(r *kgo.Record) {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Value)
	}
	room := make([]byte, 0, n)
	own := func(b []byte) []byte {
		if b == nil {
			return nil // a tombstone's value, the key of a record without one
		}
		at := len(room)
		room = append(room, b...)
		return room[at:len(room):len(room)]
	}
	r.Key, r.Value = own(r.Key), own(r.Value)
	for i := range r.Headers {
		r.Headers[i].Value = own(r.Headers[i].Value)
	}
}

// room returns how many records a poll may take: what the source partitions that are not paused may still hold together
// or, if all are paused, what the retry partitions may. It returns 0 if that is hardly worth a poll of the source.
//
// room bounds a flowing stream without pausing anything. A pause discards what the client has fetched, and a resumed
// partition waits for the fetch in flight, at worst a quarter of a second.
func (s *session) room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	source, tier := limitsFor(&s.in.cfg, s.partitions)
	share, left := s.mayHold(source, func(l *partition) bool { return l.tier == sourceTier })
	switch {
	case share.records == 0:
		_, left = s.mayHold(tier, func(l *partition) bool { return l.tier != sourceTier })
		return min(max(left.records, minPoll), maxPoll)
	case left.records < share.records/8 || left.bytes < share.bytes/8:
		return 0
	}
	return min(left.records, maxPoll)
}

// mayHold returns what the partitions of a kind that are not paused may hold together, and how much of it is left. The
// mutex is held.
func (s *session) mayHold(share limits, of func(*partition) bool) (all, left limits) {
	for _, l := range s.partitions {
		if of(l) && !l.paused {
			all.records, all.bytes = all.records+share.records, all.bytes+share.bytes
			left.records, left.bytes = left.records+share.records-l.held, left.bytes+share.bytes-l.heldBytes
		}
	}
	return all, left
}

// patience is how long a session without room waits for results before it pauses the partitions that hold too much.
// Meanwhile it fetches nothing from the retry topics either; their records are fetched long before they are due.
const patience = 50 * time.Millisecond

// awaitResults waits for results to commit, which make room. It returns false if none come for so long that handlers
// must be slow or waiting.
func (s *session) awaitResults(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-s.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// relieve pauses the source partitions that hold their share, so that retry topics and other partitions go on, and
// returns what a poll may take then.
func (s *session) relieve() int {
	s.mu.Lock()
	s.balance(true)
	s.mu.Unlock()
	return max(s.room(), minPoll)
}

// balance resumes the partitions that have room again, and pauses the retry partitions that hold enough; with source,
// source partitions too. The mutex is held.
func (s *session) balance(source bool) {
	share, tier := limitsFor(&s.in.cfg, s.partitions)
	pause, resume := map[string][]int32{}, map[string][]int32{}
	for _, l := range s.partitions {
		lim := tier
		if l.tier == sourceTier {
			lim = share
		}
		switch {
		case !l.paused && l.full(lim) && (source || l.tier != sourceTier):
			l.paused = true
			pause[l.topic] = append(pause[l.topic], l.partition)
		case l.paused && l.roomy(lim) && !time.Now().Before(l.fetchAt):
			l.paused = false
			resume[l.topic] = append(resume[l.topic], l.partition)
		}
	}
	if len(pause) > 0 {
		s.committer.Client().PauseFetchPartitions(pause)
	}
	if len(resume) > 0 {
		s.committer.Client().ResumeFetchPartitions(resume)
	}
}

const (
	// fetchPause is how long a partition is not read after its fetch failed. Brokers answer such a fetch at once (for
	// example if the topic was deleted), and the client would ask again at once: thousands of requests a second.
	fetchPause = time.Second
	// fetchTold is how often the failing fetches of a partition are logged.
	fetchTold = time.Minute
)

// pauseFetch pauses one partition whose fetch failed, until balance resumes it.
func (s *session) pauseFetch(ctx context.Context, fe kgo.FetchError) {
	now, tell := time.Now(), true
	s.mu.Lock()
	if l := s.partitions[topicPartition{fe.Topic, fe.Partition}]; l != nil {
		tell = now.Sub(l.fetchTold) >= fetchTold
		if tell {
			l.fetchTold = now
		}
		l.paused, l.fetchAt = true, now.Add(fetchPause)
		s.committer.Client().PauseFetchPartitions(map[string][]int32{fe.Topic: {fe.Partition}})
	}
	s.mu.Unlock()
	if tell {
		s.in.cfg.Logger.WarnContext(ctx, "fetch failed, will be tried again", "topic", fe.Topic, "partition", fe.Partition, "every", fetchPause, "error", fe.Err)
	}
}

// Retry topics belong to one pipeline. If two pipelines are configured with one tier prefix, a new one is refused at its
// start. One that runs leaves the records of the other alone: it does not retry them, and it does not purge the topic.

// ofOtherPipeline reports whether a record of a retry topic is another pipeline's. A record without a pipeline is
// foreign in a former tier; in a tier of this pipeline it is a malformed record of its own. The mutex is held.
func (s *session) ofOtherPipeline(l *partition, r *kgo.Record) bool {
	if l.tier == sourceTier || r.Attrs.IsControl() {
		return false
	}
	writer := topics.WriterOf(r)
	if writer == "" {
		former := l.tier >= len(s.in.cfg.Retries.Tiers)
		return former && (l.shared || l.committed.Offset < 0)
	}
	return writer != s.in.cfg.Origin.Pipeline && !slices.Contains(l.state.pipelines, writer)
}

// leaveToOwner passes over a record of another pipeline, and logs it once per partition. The mutex is held.
func (s *session) leaveToOwner(l *partition, r *kgo.Record) {
	l.end = max(l.end, r.Offset+1)
	l.window.Pass(r.Offset)
	s.lazy = true
	if l.shared {
		return
	}
	l.shared = true
	s.in.cfg.Logger.WarnContext(s.base, "a retry topic has records of another pipeline; they are left to it, and the topic is no longer purged; "+
		"give each pipeline a tier prefix of its own (topics.tier_prefix)",
		"topic", l.topic, "partition", l.partition, "offset", r.Offset, "pipeline", header.Clip(topics.WriterOf(r), 80), "own_pipeline", s.in.cfg.Origin.Pipeline)
}
