package crs_test

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// TestOSTN15 compares the National Grid with the test points that the Ordnance
// Survey published with its grid transformation, which is the definition of
// OSGB36. A grid is what this package does without, so the answer is in metres.
func TestOSTN15(t *testing.T) {
	var file struct{ Points [][5]any }
	readJSON(t, "testdata/ostn15.json", &file)
	must.That(t, len(file.Points) == 40, "%d points", len(file.Points))
	tr := mustTransform(t, "EPSG:4258", "EPSG:27700")
	var worst, sum float64
	for _, p := range file.Points {
		var n [4]float64
		for i := range n {
			n[i] = p[i+1].(float64)
		}
		x, y, err := tr.Forward(n[1], n[0])
		must.Do(t, err)
		off := metres(crs.Metre, x, y, n[2], n[3])
		worst, sum = max(worst, off), sum+off
	}
	mean := sum / float64(len(file.Points))
	expect.That(t, worst <= 5 && mean <= 2, "worst %.2f m, mean %.2f m: more than the accuracy of EPSG:1314 says", worst, mean)
}
