package retrytopics

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// accept takes the records of a poll into their lanes and hands them to the scheduler.
func (s *session) accept(fetches kgo.Fetches) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var tasks []*task
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if err != nil || p.Topic == "" || p.Partition < 0 {
			return
		}
		l := s.lanes[topicPartition{p.Topic, p.Partition}]
		if l == nil {
			return // given to another member; the client has not heard of it yet
		}
		l.end = max(l.end, p.LastStableOffset)
		for _, r := range p.Records {
			if !l.window.takes(r.Offset) {
				err = fmt.Errorf("%s partition %d sent offset %d out of its order", p.Topic, p.Partition, r.Offset)
				return
			}
			if t := s.take(l, r, now); t != nil {
				tasks = append(tasks, t)
			}
		}
	})
	if err != nil {
		return err
	}
	s.balance()
	s.sched.add(tasks)
	return nil
}

// maxSkew is by how much the clock that stamped a record may be ahead of ours before it is counted.
const maxSkew = time.Second

// take notes one record; it gives a task unless it is a transaction's marker. The task has no record when a former owner
// of the partition has finished it.
func (s *session) take(l *lane, r *kgo.Record, now time.Time) *task {
	l.end = max(l.end, r.Offset+1)
	if r.Attrs.IsControl() {
		l.window.pass(r.Offset)
		s.lazy = true
		return nil
	}
	fresh := l.window.take(r.Offset)
	place := l.places
	l.places++
	if !fresh {
		s.lazy = true
		return &task{lane: l, place: place, spare: int64(len(l.window.restored))}
	}
	if r.Timestamp.After(now.Add(maxSkew)) {
		s.e.skewed.Add(1)
	}
	l.hold(r)
	t := s.e.newTask(l, r, now)
	t.place, t.spare = place, int64(len(l.window.restored))
	if err := s.refused[t.record.Position]; err != nil {
		t.refused = &outputError{err}
	}
	return t
}

// balance pauses the lanes that hold enough and resumes those that have room again. The mutex is held.
func (s *session) balance() {
	lanes := make([]*lane, 0, len(s.lanes))
	for _, l := range s.lanes {
		lanes = append(lanes, l)
	}
	source, tier := limitsFor(&s.e.cfg, lanes)
	pause, resume := map[string][]int32{}, map[string][]int32{}
	for _, l := range lanes {
		lim := tier
		if l.tier == sourceLane {
			lim = source
		}
		switch {
		case !l.paused && l.full(lim):
			l.paused = true
			pause[l.topic] = append(pause[l.topic], l.partition)
		case l.paused && l.roomy(lim):
			l.paused = false
			resume[l.topic] = append(resume[l.topic], l.partition)
		}
	}
	if len(pause) > 0 {
		s.link.client().PauseFetchPartitions(pause)
	}
	if len(resume) > 0 {
		s.link.client().ResumeFetchPartitions(resume)
	}
}
