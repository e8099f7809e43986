package retrytopics

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/twmb/franz-go/pkg/kgo"
)

// accept takes the records of a poll into their partitions and hands them to the scheduler.
func (s *session) accept(fetches kgo.Fetches) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.e.now()
	records := s.arrived[:0]
	var refused error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if refused != nil || p.Topic == "" || p.Partition < 0 {
			return
		}
		l := s.partitions[topicPartition{p.Topic, p.Partition}]
		if l == nil {
			return // given to another member; the client has not heard of it yet
		}
		l.end = max(l.end, p.LastStableOffset)
		s.arrive(l, &p.FetchPartition)
		for _, r := range p.Records {
			if !l.window.Expects(r.Offset) {
				refused = &disorderError{l.topicPartition, r.Offset, l.committed.Offset}
				return
			}
			if s.ofOtherPipeline(l, r) {
				s.leaveToOwner(l, r)
				continue
			}
			if t, ok := s.accepted(l, r, now); ok {
				records = append(records, t)
			}
		}
	})
	if refused != nil {
		return refused
	}
	s.balance(false)
	s.sched.add(records)
	clear(records)
	s.arrived = records
	return nil
}

// maxSkew is by how much the clock that stamped a record may be ahead of ours before it is counted.
const maxSkew = time.Second

// accepted notes one record. ok is false when it is a transaction's marker.
func (s *session) accepted(l *partition, r *kgo.Record, now time.Time) (t fetched, ok bool) {
	l.end = max(l.end, r.Offset+1)
	if r.Attrs.IsControl() {
		l.window.Pass(r.Offset)
		s.lazy = true
		return fetched{}, false
	}
	fresh := l.window.Add(r.Offset)
	t = fetched{from: l, index: l.fetched, restored: int64(len(l.window.Restored()))}
	l.fetched++
	if !fresh {
		s.lazy = true
		return t, true
	}
	if r.Timestamp.After(now.Add(maxSkew)) {
		s.e.skewed.Add(1)
	}
	l.stamp(r)
	l.hold(r.Offset, size(r))
	t.raw = r
	if l.tier != sourceTier || s.budget.Bulky() {
		detach(r)
	}
	at := header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	refused := s.refused[at]
	before, known := s.e.results.pop(at)
	if l.tier == sourceTier && refused == nil && !known {
		return t, true
	}
	t.task = s.e.newTask(&task{}, t, now) // of its own: the partition's slab is the scheduler's
	if known {
		t.task.made = &before
	}
	if refused != nil && refused.output {
		t.task.refused = &outputError{refused.err}
	}
	t.task.pointerOnly = refused != nil && !refused.output
	return t, true
}

// detach copies the bytes of a record that may wait: as the client gives them, they keep the broker's whole answer in
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

// room gives how many records a poll may take: what the partitions of the source that are not paused may still hold together, and,
// where all of them are paused, those of the tiers. It is 0 when that is hardly worth a poll of the source.
//
// It bounds a stream that flows without pausing anything. A pause throws away what the client has fetched, and a resumed
// partition waits for the fetch in flight, a quarter of a second at worst.
func (s *session) room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	source, tier := limitsFor(&s.e.cfg, s.partitions)
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

// mayHold gives what the partitions of a kind that are not paused may hold together, and what of it is left. The mutex is held.
func (s *session) mayHold(share limits, of func(*partition) bool) (all, left limits) {
	for _, l := range s.partitions {
		if of(l) && !l.paused {
			all.records, all.bytes = all.records+share.records, all.bytes+share.bytes
			left.records, left.bytes = left.records+share.records-l.held, left.bytes+share.bytes-l.heldBytes
		}
	}
	return all, left
}

// patience is how long a session without room waits for results before it pauses what holds too much. Meanwhile nothing
// is taken from the tiers either; what waits there is taken long before it is due.
const patience = 50 * time.Millisecond

// awaitResults waits for results to commit, which make room. It is false when there are none for so long that handlers
// must be slow, or wait themselves.
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

// relieve pauses the partitions of the source that hold their share, so that tiers and other partitions go on, and gives what a
// poll may take then.
func (s *session) relieve() int {
	s.mu.Lock()
	s.balance(true)
	s.mu.Unlock()
	return max(s.room(), minPoll)
}

// balance resumes the partitions that have room again, and pauses those of the tiers that hold enough, of the source as well
// if so asked. The mutex is held.
func (s *session) balance(source bool) {
	share, tier := limitsFor(&s.e.cfg, s.partitions)
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
