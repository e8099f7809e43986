package main

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// meter counts committed events. It is used by one goroutine at a time.
type meter struct {
	want        int
	paced       bool   // report delays too; at full load they only reflect the length of the source
	finished    func() // called once everything is committed
	r           report
	first, last time.Time
	healthy     struct{ first, last time.Time }
	delays      []float64
	took        []float64
	drained     time.Time // time of the last commit of source events
	retries     []retry
}

// retry is one attempt after the first.
type retry struct {
	due              time.Time
	start, committed float64 // ms after the due time
}

func newMeter(want int, finished func()) *meter { return &meter{want: want, finished: finished} }

func (m *meter) done() bool { return m.r.Events >= m.want }

// transaction counts a transaction. Transactions that only move positions count too.
func (m *meter) transaction(took time.Duration, committed bool) {
	if committed {
		m.r.Transactions++
		m.took = append(m.took, ms(took))
	} else {
		m.r.Aborted++
	}
}

// plain counts finished events of a committed transaction.
func (m *meter) plain(n int) {
	now := time.Now()
	if m.first.IsZero() {
		m.first, m.r.FirstEvents = now, n
	}
	m.last = now
	m.r.Events += n
	if m.done() {
		m.r.CPU, m.r.RSS = usage()
		m.finished()
	}
}

// events counts the events of a committed transaction of the engine.
func (m *meter) events(events []*retrytopics.Event) {
	now, finished, healthy := time.Now(), 0, 0
	for _, e := range events {
		fromSource := e.Record.Position == e.Record.Source
		if fromSource {
			m.drained = now
		}
		if e.Decision.Outcome.Finished() {
			finished++
			if fromSource {
				healthy++
				if m.paced {
					m.delays = append(m.delays, ms(now.Sub(e.Record.Timestamp)))
				}
			}
		}
		if e.Record.Attempt > 1 {
			due := e.Record.Control.Due
			m.retries = append(m.retries, retry{due: due, start: ms(e.Lateness), committed: ms(now.Sub(due))})
		}
	}
	if healthy > 0 {
		if m.healthy.first.IsZero() {
			m.healthy.first = now
			m.r.Healthy.Events -= healthy // finished before the first commit
		}
		m.healthy.last = now
		m.r.Healthy.Events += healthy
	}
	if finished > 0 {
		m.plain(finished)
	}
}

// report computes the report. It leaves out retries that were due after the last commit of source events, because the
// engine was idle then.
func (m *meter) report() *report {
	r := m.r
	r.Seconds = m.last.Sub(m.first).Seconds()
	r.Healthy.Seconds = m.healthy.last.Sub(m.healthy.first).Seconds()
	r.Delay, r.Took = summarize(m.delays), summarize(m.took)
	var start, committed []float64
	for _, x := range m.retries {
		if x.due.After(m.drained) {
			r.Retries.Idle++
			continue
		}
		start, committed = append(start, x.start), append(committed, x.committed)
	}
	r.Retries.Start, r.Retries.Committed = summarize(start), summarize(committed)
	return &r
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
