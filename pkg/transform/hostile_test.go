package transform

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// hostile are geometries that are dear to repair: edges that cross in very many
// places, or run very near to each other, or over each other.
func hostile() map[string]orb.Geometry {
	random := rand.New(rand.NewPCG(1, 0))
	chords := func(n int) orb.Polygon {
		var ring orb.Ring
		for range n {
			ring = append(ring, orb.Point{random.Float64() * 10, random.Float64() * 10})
		}
		return orb.Polygon{rings.Closed(ring...)}
	}
	comb := func(x, y float64) orb.Ring { // teeth of two combs cross each other all over
		var ring orb.Ring
		for i := range 500 {
			ring = append(ring, orb.Point{float64(2*i) * x, float64(2*i) * y}, orb.Point{float64(2*i+1)*x + y*60, float64(2*i+1)*y + x*60})
		}
		return rings.Closed(append(ring, orb.Point{60 * x, -y}, orb.Point{-x, -y})...)
	}
	triangles, holes := orb.MultiPolygon{}, orb.Polygon{rings.Box(5, 5, 4)}
	for i := range 2_000 {
		d := float64(i) / 10_000
		triangles = append(triangles, orb.Polygon{{{-50 + d, -50}, {50 + d, -50}, {d, 50 + d}, {-50 + d, -50}}})
		holes = append(holes, rings.Box(5, 5, 1+d))
	}
	var nested orb.Ring
	for i := range 5_000 {
		nested = append(nested, orb.Point{0, 0}, orb.Point{float64(i+1) / 1_000, 0})
	}
	return map[string]orb.Geometry{
		"few_chords": chords(560), "chords": chords(2_000), "triangles": triangles, "overlapping_holes": holes,
		"combs": orb.Polygon{comb(0.05, 0), comb(0, 0.05)}, "nested": orb.Polygon{rings.Closed(append(nested, orb.Point{0, 5})...)},
	}
}

// Whatever a geometry does to a repair, what it takes is bounded, and what it exceeds
// is named in code, rule and message.
func TestRepair_S1_9_hostile_geometries_are_bounded(t *testing.T) {
	six, two := 6, 2
	repair := GeometryRules{Validity: ValidityRepair, Antimeridian: AntimeridianCut}
	for _, decimals := range []*int{nil, &six, &two} {
		tr := mustNew(t, Config{Geometry: roundedTo(repair, decimals)})
		for name, shape := range hostile() {
			record := []byte(mustEncode(t, tr, &Feature{Geometry: Geometry{Shape: shape}}))
			t.Run(name, func(t *testing.T) { bounded(t, tr, record) })
		}
	}
}

// bounded applies a mapping to a record: it ends, with a valid geometry or with the limit that is at fault.
func bounded(t *testing.T, tr *Transformer, record []byte) {
	t.Helper()
	out, err := tr.Apply(t.Context(), record)
	if err != nil {
		e := asError(t, err)
		expect.That(t, e.Code == classify.CodeLimitExceeded && strings.Contains(e.Message, "limits."+e.Rule) && strings.Contains(e.Fix, "limits."+e.Rule),
			"got %s, %s: %v", e.Code, e.Rule, e)
	} else if v, err := violationOf(t.Context(), out.Geometry.Shape, ""); v != nil || err != nil {
		t.Errorf("became invalid: %v, %v", v, err)
	}
}

// A deadline ends a repair whose limits would let it go on.
func TestRepair_S1_9_ends_with_its_deadline(t *testing.T) {
	tr := mustNew(t, Config{Geometry: GeometryRules{Validity: ValidityRepair}, Limits: Limits{MaxCrossings: 1 << 30}})
	for name, shape := range hostile() {
		if name != "chords" && name != "triangles" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := tr.Apply(ctx, []byte(mustEncode(t, tr, &Feature{Geometry: Geometry{Shape: shape}})))
			expect.That(t, errors.Is(err, context.DeadlineExceeded) && classify.Of(err).Transient(), "got %v", err)
		})
	}
}

// The text that is written is bounded, too.
func TestEncode_S1_9_output_is_bounded(t *testing.T) {
	tr := mustNew(t, Config{Limits: Limits{MaxOutputBytes: 100}, Constants: map[string]any{"long": strings.Repeat("x", 100)}})
	f, err := tr.Apply(t.Context(), []byte(withProperties(`{}`)))
	must.Do(t, err)
	_, err = tr.Encode(f)
	e := asError(t, err)
	expect.That(t, e.Code == classify.CodeLimitExceeded && e.Rule == string(RuleOutputBytes) && strings.Contains(e.Message, fmt.Sprint("limits.", RuleOutputBytes)), "got %v", e)
}
