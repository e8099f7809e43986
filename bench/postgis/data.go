package main

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// vertices is the number of vertices of a polygon, without the repeated first one.
const vertices = 12

// event is one version of one parcel: ten attributes and a polygon.
type event struct {
	key     string
	feature *transform.Feature
	values  []any // of the attributes, for the hand-written loop
	version header.Version
}

// attributes returns the attributes' columns and types.
func attributes() []transform.Field {
	return []transform.Field{
		{To: "owner", Type: transform.TypeString}, {To: "land_use", Type: transform.TypeString}, {To: "street", Type: transform.TypeString},
		{To: "note", Type: transform.TypeString}, {To: "number", Type: transform.TypeInteger}, {To: "revision", Type: transform.TypeInteger},
		{To: "area_m2", Type: transform.TypeNumber}, {To: "value_eur", Type: transform.TypeNumber}, {To: "public", Type: transform.TypeBoolean},
		{To: "updated", Type: transform.TypeDateTime},
	}
}

// eventOf returns a version of parcel i. Parcels are on a grid, in no particular order, and move slightly with each
// version.
func eventOf(i, version int) event {
	updated := fmt.Sprintf("2026-07-01T12:%02d:%02dZ", version/60%60, version%60)
	owner, street, note := fmt.Sprintf("owner %d of %d", version, i), fmt.Sprintf("street %d", i%1000), "a note of the length that notes have"
	e := event{
		key: fmt.Sprintf("parcel-%d", i), version: header.Version{Number: int64(version), Offset: int64(version)<<32 + int64(i)},
		values: []any{owner, "residential", street, note, int64(i), int64(version), float64(i) * 1.25, float64(version) * 1000.5, i%2 == 0, updated},
	}
	e.feature = &transform.Feature{ID: transform.StringValue(e.key), Geometry: transform.Geometry{Shape: polygon(i, version)}}
	for n, field := range attributes() {
		e.feature.SetProperty(field.To, valueOf(e.values[n]))
	}
	return e
}

func valueOf(v any) transform.Value {
	switch v := v.(type) {
	case string:
		return transform.StringValue(v)
	case int64:
		return transform.IntegerValue(v)
	case float64:
		return transform.NumberValue(v)
	case bool:
		return transform.BooleanValue(v)
	default:
		return transform.NullValue()
	}
}

func polygon(i, version int) orb.Polygon {
	x, y := float64(i%700)*0.2-70+float64(version)*0.001, float64(i/700%350)*0.2-35
	ring := make(orb.Ring, vertices+1)
	for v := range ring {
		angle := 2 * math.Pi * float64(v%vertices) / vertices
		ring[v] = orb.Point{x + 0.05*math.Cos(angle), y + 0.05*math.Sin(angle)}
	}
	return orb.Polygon{ring}
}

// row returns the event as a row of the sink.
func (e event) row() *sink.Row {
	return &sink.Row{
		Key: []byte(e.key), Version: e.version, Feature: e.feature, Bytes: 800,
		ContentHash: fmt.Sprintf("sha256:%064x", e.version.Offset), Source: fmt.Sprintf("parcels/0/%d", e.version.Offset),
	}
}

// slice returns n events of a version, starting at an index. Their keys have no order.
func slice(from, n, of, version int) []event {
	out := make([]event, n)
	for i := range out {
		out[i] = eventOf((from+i)*7919%of, version)
	}
	return out
}
