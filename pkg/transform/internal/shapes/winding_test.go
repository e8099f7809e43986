package shapes_test

import (
	"reflect"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
)

// Members that are nil slices keep their type beside a ring that is turned.
func TestWind_keeps_members_without_positions(t *testing.T) {
	clockwise := orb.Ring{{0, 0}, {0, 1}, {1, 1}, {0, 0}}
	turned := orb.Ring{{0, 0}, {1, 1}, {0, 1}, {0, 0}}
	shape := orb.Collection{orb.MultiPoint(nil), orb.Polygon{clockwise}, orb.Polygon(nil)}
	got, heights := shapes.Wind(shape, []float64{1, 2, 3, 4})
	if want := (orb.Collection{orb.MultiPoint(nil), orb.Polygon{turned}, orb.Polygon(nil)}); !reflect.DeepEqual(got, orb.Geometry(want)) {
		t.Errorf("%#v, want %#v", got, want)
	}
	if want := []float64{4, 3, 2, 1}; !reflect.DeepEqual(heights, want) {
		t.Errorf("heights %v, want %v", heights, want)
	}
}
