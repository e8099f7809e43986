package lettermodel

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var at = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

func load(t *testing.T, records ...*kgo.Record) *Model {
	t.Helper()
	broker := fakekafka.Start(t, kfake.SeedTopics(2, "dlq", "status"))
	cl := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	m, err := Load(t.Context(), cl, "dlq", "status")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func dead(id string, partition int32, age time.Duration, value string) *kgo.Record {
	c := header.Control{DeadLetterID: id, ErrorCode: "timeout", HasSource: true, Source: header.Position{Topic: "features"}}
	return &kgo.Record{Topic: "dlq", Partition: partition, Timestamp: at.Add(-age), Value: []byte(value), Headers: c.AppendTo(nil)}
}

func ids(letters []deadletters.Letter) string {
	var out []string
	for _, l := range letters {
		out = append(out, l.ID)
	}
	return strings.Join(out, " ")
}

func TestModel_joins_letters_with_their_last_state(t *testing.T) {
	m := load(t,
		dead("a", 0, 0, "v-a"), dead("b", 1, time.Second, "v-b"), dead("c", 0, -time.Second, "v-c"), dead("d", 0, -time.Minute, "v-d"),
		deadletters.State{ID: "b", Status: deadletters.Replaying, At: at}.Record("status", 1),
		deadletters.State{ID: "b", Status: deadletters.Reprocessed, At: at}.Record("status", 1),
		deadletters.State{ID: "d", Status: deadletters.Discarded, At: at}.Record("status", 0),
		&kgo.Record{Topic: "status", Key: []byte("c"), Value: []byte(`{"id":"c","status":"vaporised"}`)},
		&kgo.Record{Topic: "status", Key: []byte("d")})
	if got := ids(m.Select(deadletters.Filter{})); got != "b a c d" {
		t.Errorf("letters, oldest first: %s", got)
	}
	for id, want := range map[string]deadletters.Status{"a": deadletters.Pending, "b": deadletters.Reprocessed, "c": "", "d": deadletters.Pending} {
		if got := m.letters[id].Status; got != want {
			t.Errorf("%s: status %q, want %q", id, got, want)
		}
	}
	if problems := m.letters["c"].Problems; !strings.Contains(strings.Join(problems, "\n"), "vaporised") {
		t.Errorf("problems of c: %q", problems)
	}
	if got := ids(m.Select(deadletters.Filter{Text: "v-", Limit: 2})); got != "b a" {
		t.Errorf("the two oldest with that text: %s", got)
	}
}

func TestModel_takes_the_later_record_of_a_letter(t *testing.T) {
	edit := dead("a", 0, -time.Hour, "edited")
	edit.Headers = append(edit.Headers, kgo.RecordHeader{Key: deadletters.HeaderEditOf, Value: []byte("dlq/0/0")})
	m := load(t, dead("a", 0, 0, "first"), edit, dead("a", 0, -2*time.Hour, "again"))
	letters := m.Select(deadletters.Filter{})
	if l := letters[0]; len(letters) != 1 || l.Deaths != 2 || l.DLQ.Offset != 2 || string(l.Content.Value) != "again" || l.Edited() {
		t.Errorf("died, edited, died again: %+v", letters)
	}
}
