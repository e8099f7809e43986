package enrich

import (
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// geometryValue converts a shape to a GeoJSON geometry (RFC 7946, section 3.1) with two ordinates per position. A shape
// of another type becomes null.
func geometryValue(shape orb.Geometry) transform.Value {
	object := func(kind transform.GeometryType, name string, v transform.Value) transform.Value {
		return transform.ObjectValue(
			transform.Member{Name: "type", Value: transform.StringValue(string(kind))}, transform.Member{Name: name, Value: v})
	}
	switch g := shape.(type) {
	case orb.Point:
		return object(transform.Point, "coordinates", position(g))
	case orb.MultiPoint:
		return object(transform.MultiPoint, "coordinates", listOf(g, position))
	case orb.LineString:
		return object(transform.LineString, "coordinates", listOf(g, position))
	case orb.MultiLineString:
		return object(transform.MultiLineString, "coordinates", listOf(g, line))
	case orb.Polygon:
		return object(transform.Polygon, "coordinates", listOf(g, ring))
	case orb.MultiPolygon:
		return object(transform.MultiPolygon, "coordinates", listOf(g, func(p orb.Polygon) transform.Value { return listOf(p, ring) }))
	case orb.Collection:
		return object(transform.GeometryCollection, "geometries", listOf(g, geometryValue))
	default:
		return transform.NullValue()
	}
}

func position(p orb.Point) transform.Value {
	return transform.ArrayValue(transform.NumberValue(p[0]), transform.NumberValue(p[1]))
}

func line(l orb.LineString) transform.Value { return listOf(l, position) }
func ring(r orb.Ring) transform.Value       { return listOf(r, position) }

func listOf[T any](all []T, one func(T) transform.Value) transform.Value {
	items := make([]transform.Value, len(all))
	for i, item := range all {
		items[i] = one(item)
	}
	return transform.ArrayValue(items...)
}
