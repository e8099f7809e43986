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
		l, ok := x.Letter(id)
		if !ok || l.Status != want {
			t.Errorf("%s: %v, status %q, want %q", id, ok, l.Status, want)
		}
	}
	if c, _ := x.Letter("c"); !strings.Contains(strings.Join(c.Problems, "\n"), "vaporised") {
		t.Errorf("problems of c: %q", c.Problems)
	}
	if x.Ends[0] != 2 || x.Ends[1] != 1 {
		t.Errorf("ends %v", x.Ends)
	}
	for hash, want := range map[string]string{"h": "b", "g": "gone", "other": ""} {
		if id, ok := x.States.Holder(hash); id != want || ok != (want != "") {
			t.Errorf("holder of %s: %q %v, want %q", hash, id, ok, want)
		}
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
	l, _ := x.Letter("a")
	if x.Len() != 1 || l.Deaths != 2 || l.DLQ.Offset != 1 || l.Size != len("second") {
		t.Errorf("%d letters, %+v", x.Len(), l)
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

func TestStates_forget_what_no_longer_holds(t *testing.T) {
	s := NewStates()
	s.Set(State{ID: "a", Status: Replaying, ContentHash: "h"})
	s.Set(State{ID: "b", Status: Replaying, ContentHash: "h"})
	s.Set(State{ID: "a", Status: Pending, ContentHash: "h"})
	if id, ok := s.Holder("h"); !ok || id != "b" {
		t.Errorf("a failed again: holder %q %v, want b", id, ok)
	}
	s.Set(State{ID: "b", Status: Discarded, ContentHash: "h"})
	if id, ok := s.Holder("h"); ok {
		t.Errorf("nothing is put back, yet %q holds the content", id)
	}
	s.Add(&kgo.Record{Key: []byte("b")})
	if st, err := s.Of("b"); err != nil || st.Status != Pending || s.Len() != 1 {
		t.Errorf("after a tombstone: %+v, %v, %d states", st, err, s.Len())
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
		if x.Len() != 2 {
			t.Errorf("%s: the index has %d letters, want all 2", name, x.Len())
		}
	}
}
