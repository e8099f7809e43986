package integration

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// S4-15: each permission of consumer run is missing once when it starts and is taken away once while it works. Each time
// an error names it, nothing is lost, finished work asks the service again at most for every tenth record, and the work goes
// on by itself once the permission is back.
func TestACLs_S4_15_consumerRun(t *testing.T) {
	const lanes = 3 // pipelines side by side
	for lane := range lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			m := newMatrix(t)
			for i, p := range m.needed {
				if i%lanes == lane {
					m.missingAtStart(p)
					m.takenWhileRunning(p)
				}
			}
			m.end()
		})
	}
}

// matrix is a pipeline whose permissions come and go.
type matrix struct {
	*guarded
	needed   []permission
	done     *topiclog.Tail // output and DLQ
	consumer *proc.Process
	rounds   int
	sent     []string
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{guarded: newGuarded(t)}
	m.topicsOfAnother()
	m.needed = m.printed("consumer", "topics", "acls", "--for", "run")
	m.allow(m.needed...)
	m.done = m.log.Tail(t, m.topics.Output, m.topics.DLQ)
	return m
}

// perRound is how many records each round brings: most succeed, one after a retry, one never.
const perRound = 12

func (m *matrix) round(what string) []string {
	m.t.Helper()
	m.rounds++
	names := ids(fmt.Sprintf("%s-%d", what, m.rounds), perRound)
	m.places.Script(names[0], misbehave.Status(503))
	m.places.Script(names[1], misbehave.Times(1000, misbehave.Status(404))...)
	m.send(names...)
	m.sent = append(m.sent, names...)
	return names
}

// finished waits until a round's records are all in the output or the DLQ, and counts what they cost.
func (m *matrix) finished(names []string, without permission) {
	m.t.Helper()
	m.done.Until(m.ctx, m.t, fmt.Sprintf("the records of %s, after %s came back; the consumer says:\n%s", names[0], without, m.consumer.Stderr.Tail(3000)), func(seen []*kgo.Record) bool {
		keys := map[string]bool{}
		for _, r := range seen {
			keys[string(r.Key)] = true
		}
		for _, name := range names {
			if !keys[name] {
				return false
			}
		}
		return true
	})
	calls := 0
	for _, name := range names {
		calls += len(m.places.Arrivals(name))
	}
	if most := int(math.Ceil(1.1 * (perRound + 1))); calls > most {
		m.t.Errorf("without %s, %d records cost %d calls, want at most %d", without, perRound, calls, most)
	}
}

func (m *matrix) begin() {
	m.t.Helper()
	m.consumer = proc.Start(m.t, m.specOf("consumer", "run"))
}

// onlyAtStart are needed while the consumer starts, or only for what does not happen here: an order of a gate, a replay.
func (m *matrix) onlyAtStart(p permission) bool {
	return p.operation == acls.DescribeConfigs || m.idle(p)
}

// idle permissions are for what does not happen here: an order of a gate, the end of a replay, the purge of a tier.
func (m *matrix) idle(p permission) bool {
	return p.operation == acls.Write && (p.name == m.set.ID+".control" || p.name == m.status) || p.operation == acls.Delete
}

func (m *matrix) missingAtStart(p permission) {
	m.t.Helper()
	m.stopped()
	m.deny(p)
	names := m.round("start")
	m.begin()
	if !m.idle(p) {
		m.named(p, 0)
	}
	m.allow(p)
	m.finishedAgain(names, p)
}

// finishedAgain starts a consumer that has ended again, as a supervisor does.
func (m *matrix) finishedAgain(names []string, p permission) {
	m.t.Helper()
	select {
	case <-m.consumer.Done():
		m.begin()
	default:
	}
	m.finished(names, p)
}

func (m *matrix) takenWhileRunning(p permission) {
	m.t.Helper()
	mark := len(m.consumer.Stderr.String())
	m.deny(p)
	names := m.round("running")
	if m.onlyAtStart(p) {
		m.finished(names, p)
	} else {
		m.named(p, mark)
	}
	m.allow(p)
	select {
	case <-m.consumer.Done():
		m.t.Errorf("without %s the consumer ended: %s", p, m.consumer.Stderr.Tail(2000))
		m.begin()
	default:
	}
	m.finished(names, p)
}

// named waits until the consumer says what is missing.
func (m *matrix) named(p permission, mark int) {
	m.t.Helper()
	eventually.Until(m.ctx, m.t, "an error that names "+p.String(), func() (bool, string) {
		said := m.consumer.Stderr.String()[mark:]
		select {
		case <-m.consumer.Done():
			if said = m.consumer.Stderr.String()[mark:]; !p.words(said) {
				m.t.Errorf("without %s the consumer ends and says\n%s", p, said)
			}
			return true, ""
		default:
		}
		return p.words(said), said[max(0, len(said)-3000):]
	})
}

// stopped stops the consumer, if one runs.
func (m *matrix) stopped() {
	m.t.Helper()
	if m.consumer == nil {
		return
	}
	m.consumer.Signal(m.t, syscall.SIGTERM)
	m.consumer.Wait(m.ctx, m.t)
}

// end holds all rounds to what was sent: each record once, and none missing.
func (m *matrix) end() {
	m.t.Helper()
	m.stopped()
	wantTotals(m.t, m.verify(), len(m.sent), conservation.Place{Output: len(m.sent) - m.rounds, Letters: m.rounds})
	if lines := strings.Count(m.consumer.Stderr.String(), "\n"); lines > 5000 {
		m.t.Errorf("the last consumer wrote %d lines", lines)
	}
}
