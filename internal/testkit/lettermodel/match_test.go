package lettermodel

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func box(west, south, east, north float64) deadletters.BBox {
	return deadletters.BBox{West: west, South: south, East: east, North: north}
}

func TestFilter_parts_are_composed_with_and(t *testing.T) {
	l := deadletters.Letter{ID: "1-2-aa", At: at, Status: deadletters.Pending, Group: "0123456789ab", Key: []byte("key-1"), Control: header.Control{
		ErrorCode: "geometry_invalid", ErrorMessage: "ring 3", FeatureID: "P-1", Pipeline: "parcels", RunID: "run-1", BBox: "1,1,2,2",
	}}
	l.Content = &deadletters.Content{Value: []byte(`{"area":1}`), Headers: []kgo.RecordHeader{
		{Key: "tag", Value: []byte("one")}, {Key: "tag", Value: []byte("two")},
	}}
	two, three := "two", "three"
	for _, c := range []struct {
		name string
		f    deadletters.Filter
		want bool
	}{
		{"empty", deadletters.Filter{}, true},
		{"id", deadletters.Filter{IDs: []string{"x", "1-2-aa"}}, true},
		{"other id", deadletters.Filter{IDs: []string{"x"}}, false},
		{"code", deadletters.Filter{Codes: []string{"geometry_invalid"}}, true},
		{"id and other code", deadletters.Filter{IDs: []string{"1-2-aa"}, Codes: []string{"timeout"}}, false},
		{"group", deadletters.Filter{Groups: []string{l.Group}}, true},
		{"other group", deadletters.Filter{Groups: []string{"000000000000"}}, false},
		{"status", deadletters.Filter{Statuses: []deadletters.Status{deadletters.Discarded, deadletters.Pending}}, true},
		{"other status", deadletters.Filter{Statuses: []deadletters.Status{deadletters.Discarded}}, false},
		{"since its time", deadletters.Filter{Since: l.At}, true},
		{"since later", deadletters.Filter{Since: l.At.Add(1)}, false},
		{"until its time", deadletters.Filter{Until: l.At}, false},
		{"until later", deadletters.Filter{Until: l.At.Add(1)}, true},
		{"feature", deadletters.Filter{Features: []string{"x", "P-1"}}, true},
		{"other feature", deadletters.Filter{Features: []string{"x"}}, false},
		{"pipeline", deadletters.Filter{Pipelines: []string{"parcels"}}, true},
		{"other pipeline", deadletters.Filter{Pipelines: []string{"roads"}}, false},
		{"run", deadletters.Filter{Runs: []string{"run-1"}}, true},
		{"other run", deadletters.Filter{Runs: []string{"run-2"}}, false},
		{"bbox", deadletters.Filter{BBox: new(box(0, 0, 5, 5))}, true},
		{"other bbox", deadletters.Filter{BBox: new(box(20, 20, 25, 25))}, false},
		{"header", deadletters.Filter{Headers: []deadletters.HeaderMatch{{Name: "tag"}}}, true},
		{"header value, the second of its name", deadletters.Filter{Headers: []deadletters.HeaderMatch{{Name: "tag", Value: &two}}}, true},
		{"one header of two", deadletters.Filter{Headers: []deadletters.HeaderMatch{{Name: "other"}, {Name: "tag"}}}, true},
		{"other header value", deadletters.Filter{Headers: []deadletters.HeaderMatch{{Name: "tag", Value: &three}}}, false},
		{"text of the value", deadletters.Filter{Text: `"area":1`}, true},
		{"text of the message", deadletters.Filter{Text: "ring"}, true},
		{"text of the key", deadletters.Filter{Text: "key-1"}, true},
		{"other text", deadletters.Filter{Text: "Ring"}, false},
		{"text and other header", deadletters.Filter{Text: "ring", Headers: []deadletters.HeaderMatch{{Name: "other"}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Equal(t, match(c.f, &l), c.want, "matches")
		})
	}
}

func TestFilter_an_unreadable_state_matches_no_status(t *testing.T) {
	l := deadletters.Letter{ID: "x", Content: &deadletters.Content{}}
	expect.That(t, !match(deadletters.Filter{Statuses: deadletters.Statuses()}, &l), "it matches")
}

func TestBBox_meets_over_the_antimeridian_too(t *testing.T) {
	fiji := box(177, -20, -178, -16)
	for _, c := range []struct {
		name string
		a, b deadletters.BBox
		want bool
	}{
		{"inside", box(0, 0, 10, 10), box(2, 2, 3, 3), true},
		{"touching edge", box(0, 0, 10, 10), box(10, 10, 11, 11), true},
		{"beside", box(0, 0, 10, 10), box(11, 0, 12, 10), false},
		{"above", box(0, 0, 10, 10), box(0, 11, 10, 12), false},
		{"crossing, west of the line", fiji, box(178, -18, 179, -17), true},
		{"crossing, east of the line", fiji, box(-179, -18, -178.5, -17), true},
		{"crossing, far away", fiji, box(9, -18, 10, -17), false},
		{"both crossing", fiji, box(179, -17, -170, -10), true},
		{"both crossing, other latitude", fiji, box(179, 10, -170, 20), false},
	} {
		expect.That(t, meet(c.a, c.b) == c.want && meet(c.b, c.a) == c.want, "%s: %v and %v: %v %v, want %v", c.name, c.a, c.b, meet(c.a, c.b), meet(c.b, c.a), c.want)
	}
}

var at = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
