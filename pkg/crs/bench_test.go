package crs_test

import (
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
	} {
		b.Run(pair[0]+" to "+pair[1], func(b *testing.B) {
			tr := mustTransform(b, pair[0], pair[1])
			box, points := tr.From().Bounds(), make([][2]float64, 1000)
			if tr.From().Unit() == crs.Degree {
				box = tr.To().AreaOfUse()
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
