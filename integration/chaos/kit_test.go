//go:build unix

package chaos

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/integration/chaos/worker"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S2-9: the shares of the load are what they say, and a seed gives the same load again.
func TestMaker_S2_9_shares(t *testing.T) {
	const n = 100_000
	a, b := feed.NewMaker(feed.DefaultMix(), 7), feed.NewMaker(feed.DefaultMix(), 7)
	var transient, permanent, duplicates, fresh, tombstones, keyless, exhausted int
	seen := map[string]bool{}
	for range n {
		r, same := a.Next(), b.Next()
		must.That(t, bytes.Equal(r.Key, same.Key) && bytes.Equal(r.Value, same.Value), "one seed, two loads: %q %q", r.Value, same.Value)
		if r.Key == nil {
			keyless++
		}
		if r.Value == nil {
			tombstones++
			continue
		}
		if seen[string(r.Value)] {
			duplicates++
			continue
		}
		seen[string(r.Value)] = true
		fresh++
		e := must.Get(feed.Parse(r.Value))(t)
		if e.Fails > 0 {
			transient++
		}
		if e.Permanent {
			permanent++
		} else if e.Dies(5) {
			exhausted++
		}
	}
	for _, c := range []struct {
		what      string
		got, of   int
		want, tol float64
	}{
		{"duplicates", duplicates, n, .30, .01}, {"tombstones", tombstones, n, .005, .001}, {"without a key", keyless, n, .005, .001},
		{"transient", transient, fresh, .10, .01}, {"permanent", permanent, fresh, .009, .002}, {"exhausted", exhausted, transient, .008, .004},
	} {
		share := float64(c.got) / float64(c.of)
		expect.That(t, math.Abs(share-c.want) <= c.tol, "%s: %d of %d, %.4f; want %.4f", c.what, c.got, c.of, share, c.want)
	}
}

func TestSink_keepsTheNewest(t *testing.T) {
	s, err := worker.OpenSink(t.TempDir())
	must.Do(t, err)
	defer s.Close()
	for _, u := range []struct {
		version int64
		value   []byte
	}{{5, []byte("five\n5")}, {3, []byte("three")}, {5, []byte("five\n5")}, {9, nil}, {7, []byte("seven")}} {
		must.Do(t, s.Upsert("k", "s/0/1", u.version, u.value))
	}
	must.Do(t, s.Upsert("l", "s/0/2", 1, []byte("one\ntwo")))
	rows, err := s.Rows()
	want := map[string]worker.Row{"k": {Version: 9}, "l": {Version: 1, Value: []byte("one\ntwo")}}
	expect.That(t, err == nil && reflect.DeepEqual(rows, want), "table %v, error %v; want %v", rows, err, want)
	tried, err := s.Tried()
	if want := map[string]int{"s/0/1": 5, "s/0/2": 1}; err != nil || !reflect.DeepEqual(tried, want) {
		t.Errorf("tried %v, error %v; want %v", tried, err, want)
	}
}
