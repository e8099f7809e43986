package deadletters

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func letter(id, code, message string, status Status, age time.Duration) Letter {
	return Letter{
		ID: id, At: at.Add(-age), Status: status, Size: 10, Deaths: 1,
		Control: retrytopics.Control{ErrorCode: code, ErrorStage: "gate", ErrorMessage: message},
		Group:   Fingerprint(code, "gate", Normalise(message)),
	}
}

func TestFilter_parts_are_composed_with_and(t *testing.T) {
	l := letter("1-2-aa", "geometry_invalid", "ring 3", Pending, time.Hour)
	l.Control.FeatureID, l.Control.Pipeline, l.Control.RunID, l.Control.BBox = "P-1", "parcels", "run-1", "1,1,2,2"
	l.Key = []byte("key-1")
	l.Content = &Content{Value: []byte(`{"area":1}`), Headers: []kgo.RecordHeader{
		{Key: "tag", Value: []byte("one")}, {Key: "tag", Value: []byte("two")},
	}}
	two, three := "two", "three"
	for _, c := range []struct {
		name string
		f    Filter
		want bool
	}{
		{"empty", Filter{}, true},
		{"id", Filter{IDs: []string{"x", "1-2-aa"}}, true},
		{"other id", Filter{IDs: []string{"x"}}, false},
		{"code", Filter{Codes: []string{"geometry_invalid"}}, true},
		{"id and other code", Filter{IDs: []string{"1-2-aa"}, Codes: []string{"timeout"}}, false},
		{"group", Filter{Groups: []string{l.Group}}, true},
		{"other group", Filter{Groups: []string{"000000000000"}}, false},
		{"status", Filter{Statuses: []Status{Discarded, Pending}}, true},
		{"other status", Filter{Statuses: []Status{Discarded}}, false},
		{"since its time", Filter{Since: l.At}, true},
		{"since later", Filter{Since: l.At.Add(1)}, false},
		{"until its time", Filter{Until: l.At}, false},
		{"until later", Filter{Until: l.At.Add(1)}, true},
		{"feature", Filter{Features: []string{"x", "P-1"}}, true},
		{"other feature", Filter{Features: []string{"x"}}, false},
		{"pipeline", Filter{Pipelines: []string{"parcels"}}, true},
		{"other pipeline", Filter{Pipelines: []string{"roads"}}, false},
		{"run", Filter{Runs: []string{"run-1"}}, true},
		{"other run", Filter{Runs: []string{"run-2"}}, false},
		{"bbox", Filter{BBox: &BBox{0, 0, 5, 5}}, true},
		{"other bbox", Filter{BBox: &BBox{20, 20, 25, 25}}, false},
		{"header", Filter{Headers: []HeaderMatch{{Name: "tag"}}}, true},
		{"header value, the second of its name", Filter{Headers: []HeaderMatch{{Name: "tag", Value: &two}}}, true},
		{"one header of two", Filter{Headers: []HeaderMatch{{Name: "other"}, {Name: "tag"}}}, true},
		{"other header value", Filter{Headers: []HeaderMatch{{Name: "tag", Value: &three}}}, false},
		{"text of the value", Filter{Text: `"area":1`}, true},
		{"text of the message", Filter{Text: "ring"}, true},
		{"text of the key", Filter{Text: "key-1"}, true},
		{"other text", Filter{Text: "Ring"}, false},
		{"text and other header", Filter{Text: "ring", Headers: []HeaderMatch{{Name: "other"}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.f.Match(&l); got != c.want {
				t.Errorf("matches: %v, want %v", got, c.want)
			}
		})
	}
}

func TestFilter_an_unreadable_state_matches_no_status(t *testing.T) {
	l := letter("x", "c", "m", "", 0)
	if (Filter{Statuses: Statuses()}).Match(&l) {
		t.Error("it matches")
	}
}

func TestFilter_S4_6_check_refuses_what_cannot_be_asked_of_every_letter(t *testing.T) {
	long, zero := strings.Repeat("x", MaxHeaderValue+1), "a\x00"
	for name, f := range map[string]Filter{
		"unknown status":  {Statuses: []Status{"gone"}},
		"negative limit":  {Limit: -1},
		"empty range":     {Since: at, Until: at},
		"control header":  {Headers: []HeaderMatch{{Name: "switchback-error-code"}}},
		"nameless header": {Headers: []HeaderMatch{{}}},
		"long header":     {Headers: []HeaderMatch{{Name: "tag", Value: &long}}},
		"header of bytes": {Headers: []HeaderMatch{{Name: "tag", Value: &zero}}},
		"text of bytes":   {Text: "\xff"},
		"text of U+FFFD":  {Text: "a\uFFFD"},
	} {
		if f.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := (Filter{Statuses: Statuses(), Since: at, Until: at.Add(1), Limit: 3, Text: "Straße\n\"%\"", Headers: []HeaderMatch{{Name: "tag", Value: new(long[1:])}}}).Check(); err != nil {
		t.Error(err)
	}
}

func TestResolveTime(t *testing.T) {
	for in, want := range map[string]time.Time{
		"2026-11-01T10:00:00+02:00": time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
		"2026-11-01":                time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"90m":                       at.Add(-90 * time.Minute),
		"7d":                        at.Add(-7 * 24 * time.Hour),
		" 36h ":                     at.Add(-36 * time.Hour),
	} {
		got, err := ResolveTime(in, at)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "yesterday", "-5m", "-1d", "5", "99999999d"} {
		if got, err := ResolveTime(in, at); err == nil {
			t.Errorf("%q: accepted as %v", in, got)
		}
	}
}

func TestGroupLetters(t *testing.T) {
	replayed := letter("c", "timeout", "after 5 s", Replaying, time.Minute)
	letters := []Letter{
		letter("a", "geometry_invalid", "ring 3 crosses", Pending, 3*time.Hour),
		replayed,
		letter("b", "geometry_invalid", "ring 4 crosses", Pending, time.Hour),
		letter("d", "geometry_invalid", "ring 5 crosses", "", 2*time.Hour),
	}
	got := GroupLetters(letters)
	want := []Group{
		{
			ID: letters[0].Group, Code: "geometry_invalid", Stage: "gate", Message: "ring <n> crosses", Count: 3,
			FirstSeen: at.Add(-3 * time.Hour), LastSeen: at.Add(-time.Hour), Bytes: 30,
			Statuses: map[Status]int{Pending: 2, "": 1}, Example: "b", Said: "ring 4 crosses",
		},
		{
			ID: replayed.Group, Code: "timeout", Stage: "gate", Message: "after <n> s", Count: 1,
			FirstSeen: replayed.At, LastSeen: replayed.At, Bytes: 10, Replayed: 1,
			Statuses: map[Status]int{Replaying: 1}, Example: "c", Said: "after 5 s",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
