package feed

import (
	"bytes"
	"math"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S2-9: the shares of the load are what they say, and a seed gives the same load again.
func TestMaker_S2_9_shares(t *testing.T) {
	const n = 100_000
	a, b := NewMaker(DefaultMix(), 7), NewMaker(DefaultMix(), 7)
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
		e := must.Get(Parse(r.Value))(t)
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
