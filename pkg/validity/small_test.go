package validity

import (
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
)

// swept is the verdict of the sweep alone on a ring.
func swept(t *testing.T, ring orb.Ring) bool {
	t.Helper()
	s := newJudge(1, len(ring))
	s.add(ring, true, 0, 0)
	conflict, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conflict == nil
}

// The comparison of edges never passes a ring that the sweep refuses, and passes
// nearly all of those that the sweep passes.
func TestPlain_S0_8_agrees_with_the_sweep(t *testing.T) {
	random := rings.NewRandom(17)
	valid, plainly := 0, 0
	for range 40_000 {
		for _, polygon := range random.Polygons() {
			for _, ring := range polygon {
				if checkRing(ring) != nil || len(ring) > maxPlain {
					continue
				}
				passes, is := plain(ring), swept(t, ring)
				if passes && !is {
					t.Fatalf("passes %v, which the sweep refuses", ring)
				}
				if is {
					valid++
				}
				if passes {
					plainly++
				}
			}
		}
	}
	t.Logf("%d valid rings, %d of them without the sweep", valid, plainly)
	if valid < 20_000 || plainly < valid*3/4 {
		t.Errorf("%d of %d valid rings pass without the sweep", plainly, valid)
	}
}

// FuzzPlain looks for a ring on a small grid that passes and is not valid.
func FuzzPlain(f *testing.F) {
	f.Add([]byte{0, 0, 2, 2, 2, 0, 0, 2})
	f.Add([]byte{0, 0, 4, 0, 4, 4, 2, 0, 0, 4})
	f.Add([]byte{0, 0, 9, 0, 9, 9, 0, 9, 0, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		var corners orb.Ring
		for i := 0; i+1 < len(data) && len(corners) < maxPlain; i += 2 {
			corners = append(corners, orb.Point{float64(data[i] % 12), float64(data[i+1] % 12)})
		}
		if len(corners) < 3 {
			return
		}
		ring := rings.Closed(corners...)
		if checkRing(ring) == nil && plain(ring) && !swept(t, ring) {
			t.Fatalf("passes %v, which the sweep refuses", ring)
		}
	})
}
