package header

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Any set of parts goes through its header, within its bound.
func TestRestRoundTrip(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, of := range []int{1, 7, 8, 9, 230, MaxParts} {
		for range 50 {
			r := &Remaining{Of: of}
			share := rnd.Float64()
			for i := range of {
				switch {
				case rnd.Float64() < share:
					r.Open = append(r.Open, i)
				case rnd.IntN(2) == 0:
					r.Dead++
				default:
					r.Delivered++
				}
			}
			if len(r.Open) == 0 {
				continue
			}
			text := r.String()
			got, reason := parseRemaining(text)
			must.That(t, reason == "" && reflect.DeepEqual(got, r) && len(text) <= maxRemainingBytes, "%d bytes %.80s: %s", len(text), text, reason)
			for i := range of {
				must.That(t, got.Has(i) == slices.Contains(r.Open, i), "part %d of %s", i, text)
			}
		}
	}
}

// A rest or a part that cannot be true is a malformed header, never a guess.
func TestRestAndPartAreReadStrictly(t *testing.T) {
	t.Parallel()
	for header, texts := range map[string][]string{
		KeyRemaining: {
			"", "3;0;0", "3;0;0;", "3;0;0;3", "3;0;0;1-0", "3;0;0;1,1", "3;0;0;2,1", "3;0;0;-1", "3;0;0;1;2", "3;2;0;1-2", "3;1;1;0,2", "0;0;0;0",
			"10001;0;0;1", "3;0;0;~", "3;0;0;~AA", "3;0;0;~CA", "3;0;0;~BwA", "3;0;0;~B", "x;0;0;1", "3;0;0;" + strings.Repeat("0", maxRemainingBytes),
		},
		KeyPart:        {"", "1", "3/3", "-1/3", "1/0", "1/2/3", "a/3", " 1/3", "99999999999/999999999999"},
		KeyPartVersion: {"", "x", "1.5", "99999999999999999999"},
	} {
		for _, text := range texts {
			_, err := ParseControl([]kgo.RecordHeader{{Key: header, Value: []byte(text)}})
			expect.That(t, err != nil, "%s %q was read", header, text)
		}
	}
}
