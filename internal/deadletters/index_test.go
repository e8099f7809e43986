package deadletters

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func ids(letters []Letter) []string {
	var out []string
	for _, l := range letters {
		out = append(out, l.ID)
	}
	return out
}

func put(t *testing.T, cl *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// dead is a DLQ record of the given letter, with a message of its own.
func dead(id string, partition int32, ts time.Time) *kgo.Record {
	c := soundControl()
	c.DeadLetterID = id
	return &kgo.Record{
		Topic: "dlq", Partition: partition, Timestamp: ts, Key: []byte("k-" + id), Value: []byte("v-" + id),
		Headers: c.AppendTo(nil),
	}
}

func TestLoadIndex_joins_letters_with_their_last_state(t *testing.T) {
	broker := cluster(t)
	cl := client(t, broker)
	put(t, cl, dead("a", 0, at), dead("b", 1, at.Add(-time.Second)), dead("c", 0, at.Add(time.Second)))
	put(t, cl,
		State{ID: "b", Status: Replaying, ContentHash: "h", At: at}.Record("status", 1),
		State{ID: "b", Status: Reprocessed, ContentHash: "h", At: at}.Record("status", 1),
		State{ID: "gone", Status: Replaying, ContentHash: "g", At: at}.Record("status", 0),
		&kgo.Record{Topic: "status", Partition: 0, Key: []byte("c"), Value: []byte(`{"id":"c","status":"vaporised"}`)},
	)
	x, err := LoadIndex(t.Context(), cl, "dlq", "status")
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(x.Letters(Filter{})); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("letters, oldest first: %v", got)
	}
	for id, want := range map[string]Status{"a": Pending, "b": Reprocessed, "c": ""} {
		if got := x.letters[id].Status; got != want {
			t.Errorf("%s: status %q, want %q", id, got, want)
		}
	}
	if problems := x.letters["c"].Problems; !strings.Contains(strings.Join(problems, "\n"), "vaporised") {
		t.Errorf("problems of c: %q", problems)
	}
	if x.Ends[0] != 2 || x.Ends[1] != 1 {
		t.Errorf("ends %v", x.Ends)
	}
}

func TestLoadIndex_takes_the_later_record_of_a_letter_that_died_again(t *testing.T) {
	cl := client(t, cluster(t))
	again := dead("a", 0, at.Add(time.Hour))
	again.Value = []byte("second")
	put(t, cl, dead("a", 0, at), again)
	x, err := LoadIndex(t.Context(), cl, "dlq", "status")
	if err != nil {
		t.Fatal(err)
	}
	letters := x.Letters(Filter{})
	if l := letters[0]; len(letters) != 1 || l.Deaths != 2 || l.DLQ.Offset != 1 || l.Size != len("second") {
		t.Errorf("%+v", letters)
	}
}

func TestIndex_limits_to_the_oldest(t *testing.T) {
	x := NewIndex(NewStates())
	for i, id := range []string{"new", "old", "mid"} {
		x.Add(letter(id, "c", "m", Pending, []time.Duration{0, 2, 1}[i]*time.Hour))
	}
	if got := ids(x.Letters(Filter{Limit: 2})); !slices.Equal(got, []string{"old", "mid"}) {
		t.Errorf("got %v", got)
	}
}

func TestStates_a_tombstone_takes_the_state(t *testing.T) {
	s := NewStates()
	s.Set(State{ID: "b", Status: Discarded, ContentHash: "h"})
	s.Add(&kgo.Record{Key: []byte("b")})
	if st, err := s.Of("b"); err != nil || st.Status != Pending {
		t.Errorf("after a tombstone: %+v, %v", st, err)
	}
}

func TestStates_a_record_that_cannot_be_read_is_not_pending(t *testing.T) {
	s := NewStates()
	s.Set(State{ID: "a", Status: Replaying, ContentHash: "h"})
	s.Add(&kgo.Record{Topic: "status", Offset: 5, Key: []byte("a"), Value: []byte("{")})
	if _, err := s.Of("a"); err == nil || !strings.Contains(err.Error(), "status/0/5") {
		t.Errorf("error %v", err)
	}
	other := State{ID: "other", Status: Pending, At: at}.Record("status", 0)
	other.Key = []byte("b")
	s.Add(other)
	if _, err := s.Of("b"); err == nil {
		t.Error("a state under another letter's key is accepted")
	}
}

func TestLoadIndexFor_decides_on_headers_and_text_while_the_record_is_there(t *testing.T) {
	cl := client(t, cluster(t))
	tagged := dead("a", 0, at)
	tagged.Headers = append(tagged.Headers, kgo.RecordHeader{Key: "tag", Value: []byte("x")})
	put(t, cl, tagged, dead("b", 1, at))
	for name, c := range map[string]struct {
		f    Filter
		want []string
	}{
		"header":         {Filter{Headers: []HeaderMatch{{Name: "tag"}}}, []string{"a"}},
		"text of values": {Filter{Text: "v-b"}, []string{"b"}},
		"both":           {Filter{Text: "v-b", Headers: []HeaderMatch{{Name: "tag"}}}, nil},
	} {
		x, err := LoadIndexFor(t.Context(), cl, "dlq", "status", c.f)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(x.Letters(c.f)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if n := len(x.Letters(Filter{})); n != 2 {
			t.Errorf("%s: the index has %d letters, want all 2", name, n)
		}
	}
}
