package pending_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pending"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

var start = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const dlq, status = "features.dlq", "features.dlq-status"

type world struct {
	t      *testing.T
	client *kgo.Client
	*pending.Counter
}

func newWorld(t *testing.T) *world {
	t.Helper()
	broker := fakekafka.Start(t, kfake.SeedTopics(2, dlq, status))
	client := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return &world{t, client, pending.New(client, dlq, status)}
}

func (w *world) write(r *kgo.Record) {
	w.t.Helper()
	if err := w.client.ProduceSync(w.t.Context(), r).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// die writes a dead letter that died so many minutes after the start.
func (w *world) die(n, minutes int) {
	w.t.Helper()
	id := fmt.Sprintf("%d-%d-aaaaaaaa", n%2, n)
	c := retrytopics.Control{
		DeadLetterID: id, HasSource: true, Source: retrytopics.Position{Topic: "features", Partition: int32(n % 2), Offset: int64(n)}, ErrorCode: "not_json",
	}
	w.write(&kgo.Record{Topic: dlq, Partition: int32(n % 2), Key: []byte("k"), Value: []byte("x"), Timestamp: start.Add(time.Duration(minutes) * time.Minute), Headers: c.AppendTo(nil)})
}

// become writes a state of the letter; by an operator it names the record of the DLQ.
func (w *world) become(n int, to deadletters.Status, replay string, operator bool) {
	w.t.Helper()
	s := deadletters.State{ID: fmt.Sprintf("%d-%d-aaaaaaaa", n%2, n), Status: to, ReplayID: replay, At: start}
	if operator {
		s.DLQ = retrytopics.Position{Topic: dlq}
	}
	w.write(s.Record(status, int32(n%2)))
}

func (w *world) want(what string, want pending.Count) {
	w.t.Helper()
	got, err := w.Read(w.t.Context())
	if err != nil || got != want {
		w.t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
	}
}

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// Letters are counted until somebody has dealt with them, through all that can become of them.
func TestCounter_S4_11_countsWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want("nothing", pending.Count{})
	for n := range 5 {
		w.die(n, n)
	}
	w.want("five", pending.Count{Pending: 5, Oldest: at(0)})
	w.become(0, deadletters.Discarded, "", true)
	w.become(1, deadletters.Escalated, "", true)
	w.become(2, deadletters.Replaying, "r1", true)
	w.want("decided about", pending.Count{Pending: 2, Escalated: 1, Replaying: 1, Oldest: at(1)})
	w.become(2, deadletters.Pending, "r1", false)
	w.die(2, 60) // again: the age is that of its first death
	w.want("failed again", pending.Count{Pending: 3, Escalated: 1, Oldest: at(1)})
	w.become(0, deadletters.Pending, "", true)
	w.want("reopened", pending.Count{Pending: 4, Escalated: 1, Oldest: at(0)})
	w.become(3, deadletters.Replaying, "r2", true)
	w.become(3, deadletters.Reprocessed, "r2", false)
	w.become(3, deadletters.Pending, "r1", false) // of a replay that it is not in
	w.want("an outcome of another replay", pending.Count{Pending: 3, Escalated: 1, Oldest: at(0)})
	fresh := pending.New(w.client, dlq, status)
	if got, err := fresh.Read(t.Context()); err != nil || got != (pending.Count{Pending: 3, Escalated: 1, Oldest: at(0)}) {
		t.Errorf("from the start: %+v, %v", got, err)
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset(dlq, 0, 1, -1)
	if _, err := kadm.NewClient(w.client).DeleteRecords(t.Context(), offsets); err != nil {
		t.Fatal(err)
	}
	w.want("retention took the first", pending.Count{Pending: 2, Escalated: 1, Oldest: at(1)})
}

// A DLQ that was deleted and created again is counted anew.
func TestCounter_S4_11_startsAgainWithANewTopic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 4 {
		w.die(n, n)
	}
	w.want("four", pending.Count{Pending: 4, Oldest: at(0)})
	admin := kadm.NewClient(w.client)
	if _, err := admin.DeleteTopics(t.Context(), dlq); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopics(t.Context(), 2, 1, nil, dlq); err != nil {
		t.Fatal(err)
	}
	w.want("none", pending.Count{})
}
