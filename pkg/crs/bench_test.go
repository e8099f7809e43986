package crs_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/crs"
)

// BenchmarkForwardPoints measures a point; the work per round is 1,000 of them.
func BenchmarkForwardPoints(b *testing.B) {
	for _, pair := range [][2]string{
		{"EPSG:4326", "OGC:CRS84"},
		{"EPSG:4326", "EPSG:3857"}, {"EPSG:3857", "EPSG:4326"},
		{"EPSG:4326", "EPSG:25832"}, {"EPSG:25832", "EPSG:4326"},
		{"EPSG:4326", "EPSG:2154"}, {"EPSG:2154", "EPSG:4326"},
		{"EPSG:4326", "EPSG:3035"}, {"EPSG:3035", "EPSG:4326"},
		{"EPSG:4326", "EPSG:5070"}, {"EPSG:5070", "EPSG:4326"},
		{"EPSG:4326", "EPSG:2056"}, {"EPSG:2056", "EPSG:4326"},
		{"EPSG:4326", "EPSG:27700"}, {"EPSG:27700", "EPSG:4326"},
		{"EPSG:4289", "EPSG:28992"}, {"EPSG:28992", "EPSG:4289"},
		{"EPSG:4156", "EPSG:5514"}, {"EPSG:5514", "EPSG:4156"},
		{"EPSG:4326", "EPSG:3031"}, {"EPSG:3031", "EPSG:4326"},
		{"EPSG:4326", "EPSG:3395"}, {"EPSG:3395", "EPSG:4326"},
		{"EPSG:4314", "EPSG:4258"}, {"EPSG:4258", "EPSG:4314"},
		{"EPSG:4314", "EPSG:4258 by grid"}, {"EPSG:4258", "EPSG:4314 by grid"},
	} {
		b.Run(pair[0]+" to "+pair[1], func(b *testing.B) {
			to, grid := strings.CutSuffix(pair[1], " by grid")
			tr := mustTransform(b, pair[0], to)
			if grid {
				tr = gridTransform(b, openGrids(b, testGrids), pair[0], to, crs.OutsideRefuse)
			}
			box, points := tr.From().Bounds(), make([][2]float64, 1000)
			if tr.From().Unit() == crs.Degree {
				box = tr.To().AreaOfUse()
			}
			if pair[0] == "EPSG:4314" || strings.HasPrefix(to, "EPSG:4314") {
				box = crs.Bounds{MinX: 6, MinY: 47.5, MaxX: 14, MaxY: 55}
			}
			for i := range points {
				part := 0.3 + 0.4*float64(i)/float64(len(points))
				points[i] = [2]float64{box.MinX + part*(box.MaxX-box.MinX), box.MinY + part*(box.MaxY-box.MinY)}
			}
			dst := make([][2]float64, len(points))
			b.ReportAllocs()
			for b.Loop() {
				if err := crs.ForwardPoints(tr, dst, points); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(points)), "ns/point")
		})
	}
}

// BenchmarkGuess is what a message about a wrong coordinate costs.
func BenchmarkGuess(b *testing.B) {
	for b.Loop() {
		if len(crs.Guess(691875.63, 6098907.83)) == 0 {
			b.Fatal("nothing")
		}
	}
}

// BenchmarkLookup is what a record that names its system costs.
func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		if _, err := crs.Lookup("EPSG:25832"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewTransform is what the first record of a system costs.
func BenchmarkNewTransform(b *testing.B) {
	from, to := mustLookup(b, "EPSG:31467"), mustLookup(b, "EPSG:25832")
	for b.Loop() {
		if _, err := crs.NewTransform(from, to); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnknown is what a message about an unknown name costs.
func BenchmarkUnknown(b *testing.B) {
	_, err := crs.Lookup("EPSG:2263")
	for b.Loop() {
		if err.Error() == "" {
			b.Fatal("nothing")
		}
	}
}
