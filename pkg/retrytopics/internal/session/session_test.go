package session

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// S1-7: a record of a tier without a valid due time is not overdue.
func TestStats_S1_7_aMalformedRecordIsNotOverdue(t *testing.T) {
	s := unconnected(t, retrytopics.Config{Handler: nothing, Retries: retrytopics.Retries{Tiers: []policy.Tier{{Topic: "in.retry-2s", Delay: 2 * time.Second}}}})
	s.Sched.Pause(true)
	s.takes(&kgo.Record{Topic: "in.retry-2s", Offset: 0, Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("x")}}})
	o := s.known(time.Now()).Tiers[0].Overdue
	expect.That(t, o <= time.Hour, "overdue: %v", o)
}

// S0-6: if the group revokes only a tier's partition and not the source's, records of one key still run one at a time,
// and the session ends.
func TestSession_S0_6_losingATierAloneKeepsTheOrder(t *testing.T) {
	s := unconnected(t, retrytopics.Config{Handler: nothing, Retries: retrytopics.Retries{Tiers: []policy.Tier{{Topic: "in.retry-2s", Delay: 2 * time.Second}}}})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k")})
	first := s.Sched.Next() // running
	client := disconnected(t)
	s.mu.Lock()
	s.forget(client, func(tp partition.ID) bool { return tp.Topic == "in.retry-2s" })
	_, remembered := s.states[0]
	s.mu.Unlock()
	expect.That(t, remembered, "the memory of partition 0 is dropped, although its source partition is still assigned")
	s.takes(&kgo.Record{Topic: "in", Offset: 1, Key: []byte("k")})
	got := make(chan *schedule.Task, 1)
	go func() { got <- s.Sched.Next() }()
	select {
	case second := <-got:
		t.Errorf("offset %d runs while offset %d of the same key runs", second.Offset, first.Offset)
	case <-time.After(100 * time.Millisecond):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expect.That(t, errors.Is(s.fatal, errTierLost), "the session continues: %v", s.fatal)
}
