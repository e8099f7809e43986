package geometry_test

import (
	"reflect"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry"
)

// A copy keeps the type of a shape without positions, also within a collection.
func TestClone_keeps_the_type(t *testing.T) {
	shape := orb.Collection{
		orb.Point{1, 2}, orb.MultiPoint(nil), orb.LineString(nil), orb.MultiLineString(nil), orb.Polygon(nil), orb.MultiPolygon(nil),
		orb.Collection{orb.MultiPoint{}, orb.LineString{{3, 4}, {5, 6}}},
	}
	same := func(p orb.Point) orb.Point { return p }
	for name, copied := range map[string]orb.Geometry{"Clone": geometry.Clone(shape), "Moved": geometry.Moved(shape, same)} {
		if !reflect.DeepEqual(copied, orb.Geometry(shape)) {
			t.Errorf("%s: %#v, want %#v", name, copied, shape)
		}
	}
	line := geometry.Clone(shape).(orb.Collection)[6].(orb.Collection)[1].(orb.LineString)
	line[0] = orb.Point{9, 9}
	if shape[6].(orb.Collection)[1].(orb.LineString)[0] != (orb.Point{3, 4}) {
		t.Error("the copy shares its positions with the original")
	}
}
