package crs_test

import (
	"testing"

	"github.com/switchback-geo/switchback/pkg/crs"
)

func TestNear(t *testing.T) {
	for _, c := range []struct {
		name, first string
		why         crs.Nearness
	}{
		{"EPSG:3785", "EPSG:3857", crs.NearReplaces},
		{"EPSG:5676", "EPSG:31466", crs.NearDatum},
		{"EPSG:5243", "EPSG:4647", crs.NearDatum},
		{"ESRI:102008", "EPSG:4269", crs.NearArea},
		{"LV95", "EPSG:2056", crs.NearName},
		{"EPSG:2583", "EPSG:25830", crs.NearCode},
		{"EPSG:225832", "EPSG:25832", crs.NearCode},
		{"EPSG:52832", "EPSG:25832", crs.NearCode},
		{"EPSG:32762", "EPSG:32761", crs.NearCode},
	} {
		got := crs.Near(c.name, 3)
		switch {
		case c.why == "" && len(got) == 0:
		case len(got) == 0 || len(got) > 3:
			t.Errorf("%s: %v", c.name, got)
		case c.why != "" && (got[0].Why != c.why || c.first != got[0].Code):
			t.Errorf("%s: %v, want %s first because of %s", c.name, got, c.first, c.why)
		}
	}
	if got := crs.Near("EPSG:25382", 0); len(got) != 0 {
		t.Errorf("none were asked for: %v", got)
	}
}
