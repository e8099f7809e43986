package deadletters_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var counterStart = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const counterDLQ, counterStatus = "features.dlq", "features.dlq-status"

type counterWorld struct {
	t      *testing.T
	client *kgo.Client
	*deadletters.Counter
}

func newCounterWorld(t *testing.T) *counterWorld {
	t.Helper()
	broker := fakekafka.Start(t, kfake.SeedTopics(2, counterDLQ, counterStatus))
	client := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return &counterWorld{t, client, deadletters.NewCounter(client, counterDLQ, counterStatus)}
}

func (w *counterWorld) write(r *kgo.Record) {
	w.t.Helper()
	must.Do(w.t, w.client.ProduceSync(w.t.Context(), r).FirstErr())
}

// die writes a dead letter that died a number of minutes after the start.
func (w *counterWorld) die(n, minutes int) {
	w.t.Helper()
	id := fmt.Sprintf("%d-%d-aaaaaaaa", n%2, n)
	c := header.Control{
		DeadLetterID: id, HasSource: true, Source: header.Position{Topic: "features", Partition: int32(n % 2), Offset: int64(n)}, ErrorCode: "not_json",
	}
	w.write(&kgo.Record{Topic: counterDLQ, Partition: int32(n % 2), Key: []byte("k"), Value: []byte("x"), Timestamp: counterStart.Add(time.Duration(minutes) * time.Minute), Headers: c.AppendTo(nil)})
}

// become writes a state of the dead letter; a state by an operator names the record of the DLQ.
func (w *counterWorld) become(n int, to deadletters.Status, replay string, operator bool) {
	w.t.Helper()
	s := deadletters.State{ID: fmt.Sprintf("%d-%d-aaaaaaaa", n%2, n), Status: to, ReplayID: replay, At: counterStart}
	if operator {
		s.DLQ = header.Position{Topic: counterDLQ}
	}
	w.write(s.Record(counterStatus, int32(n%2)))
}

func (w *counterWorld) want(what string, want deadletters.Count) {
	w.t.Helper()
	got, err := w.Read(w.t.Context())
	expect.That(w.t, err == nil && got == want, "%s: %+v, %v; want %+v", what, got, err, want)
}

func minute(minutes int) time.Time { return counterStart.Add(time.Duration(minutes) * time.Minute) }

// Dead letters are counted until an operator has dealt with them, in every state.
func TestCounter_S4_11_countsWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newCounterWorld(t)
	w.want("nothing", deadletters.Count{})
	for n := range 5 {
		w.die(n, n)
	}
	w.want("five", deadletters.Count{Pending: 5, Oldest: minute(0)})
	w.become(0, deadletters.Discarded, "", true)
	w.become(1, deadletters.Escalated, "", true)
	w.become(2, deadletters.Replaying, "r1", true)
	w.want("decided about", deadletters.Count{Pending: 2, Escalated: 1, Replaying: 1, Oldest: minute(1)})
	w.become(2, deadletters.Pending, "r1", false)
	w.die(2, 60) // again: the age is that of its first death
	w.want("failed again", deadletters.Count{Pending: 3, Escalated: 1, Oldest: minute(1)})
	w.become(0, deadletters.Pending, "", true)
	w.want("reopened", deadletters.Count{Pending: 4, Escalated: 1, Oldest: minute(0)})
	w.become(3, deadletters.Replaying, "r2", true)
	w.become(3, deadletters.Reprocessed, "r2", false)
	w.become(3, deadletters.Pending, "r1", false) // of a replay that it is not in
	w.want("an outcome of another replay", deadletters.Count{Pending: 3, Escalated: 1, Oldest: minute(0)})
	fresh := deadletters.NewCounter(w.client, counterDLQ, counterStatus)
	got, err := fresh.Read(t.Context())
	expect.That(t, err == nil && got == (deadletters.Count{Pending: 3, Escalated: 1, Oldest: minute(0)}), "from the start: %+v, %v", got, err)
	offsets := kadm.Offsets{}
	offsets.AddOffset(counterDLQ, 0, 1, -1)
	must.Get(kadm.NewClient(w.client).DeleteRecords(t.Context(), offsets))(t)
	w.want("retention took the first", deadletters.Count{Pending: 2, Escalated: 1, Oldest: minute(1)})
}

// A DLQ that was deleted and created again is counted anew.
func TestCounter_S4_11_startsAgainWithANewTopic(t *testing.T) {
	t.Parallel()
	w := newCounterWorld(t)
	for n := range 4 {
		w.die(n, n)
	}
	w.want("four", deadletters.Count{Pending: 4, Oldest: minute(0)})
	admin := kadm.NewClient(w.client)
	must.Get(admin.DeleteTopics(t.Context(), counterDLQ))(t)
	must.Get(admin.CreateTopics(t.Context(), 2, 1, nil, counterDLQ))(t)
	w.want("none", deadletters.Count{})
}
