package envelope

import (
	"fmt"
	"strconv"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/schemas"
)

// EventSchemaName is the name of the published Avro event, schemas/feature-event.v1.avsc. A record with this schema is
// read as a feature, whatever the options say about rows.
const EventSchemaName = "switchback.v1.FeatureEvent"

// The fullnames of the branches of a value in the event.
const (
	branchNumber = "switchback.v1.Number"
	branchList   = "switchback.v1.List"
	branchObject = "switchback.v1.Object"
)

// eventSchema reads the published schema.
func eventSchema() (*avro.Schema, error) {
	text, err := schemas.Read(schemas.FeatureEventAvro)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	schema, err := avro.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("envelope: %s: %w", schemas.FeatureEventAvro, err)
	}
	return schema, nil
}

// EventEncoder writes features as the published Avro event. It is safe for concurrent use.
type EventEncoder struct {
	schema *avro.Schema
}

// NewEventEncoder parses the published schema.
func NewEventEncoder() (*EventEncoder, error) {
	schema, err := eventSchema()
	if err != nil {
		return nil, err
	}
	return &EventEncoder{schema}, nil
}

// Schema returns the published schema, for its fingerprint and for a registry.
func (e *EventEncoder) Schema() *avro.Schema { return e.schema }

// Append appends the datum of a feature. Put [AppendConfluent] or [AppendSingleObject] before it. One feature has one
// form, and reading it returns the feature again: every member, its order, and the digits of every number. The errors
// are *transform.Error of the encode stage: coordinates that are not in WGS 84, or a geometry, set by hand, that has no
// form.
func (e *EventEncoder) Append(dst []byte, f *transform.Feature) ([]byte, error) {
	if f.CRS != "" {
		e := withValue(fault(classify.CodeUnknownCRS, RuleEventCRS, "/geometry", "the coordinates are not in WGS 84, and the published event cannot name another system",
			"transform them to EPSG:4326, or write GeoJSON"), f.CRS)
		e.Stage = classify.StageEncode
		return nil, about(f, e)
	}
	wkb, err := eventGeometry(f)
	if err != nil {
		return nil, err
	}
	var bbox, properties any
	if f.BBox != nil {
		bbox = goavro.Union("array", f.BBox)
	}
	if f.Properties != nil {
		properties = goavro.Union("array", eventMembers(f.Properties))
	}
	return e.schema.Encode(dst, map[string]any{
		"id": eventID(f.ID), "bbox": bbox, "geometry": wkb, "properties": properties, "foreign": eventMembers(f.Foreign),
	})
}

func eventGeometry(f *transform.Feature) (any, error) {
	if f.Geometry.IsNull() {
		return nil, nil
	}
	wkb, err := geometry.Append(nil, geometry.WKB, geometry.Geometry{Shape: f.Geometry.Shape, Z: f.Geometry.Z})
	if err != nil {
		return nil, geometryFault(err, "/geometry")
	}
	return goavro.Union("bytes", wkb), nil
}

func eventID(id transform.Value) any {
	switch id.Kind() {
	case transform.KindString:
		return goavro.Union("string", id.Text())
	case transform.KindNumber:
		if i, exact := exactLong(id); exact {
			return goavro.Union("long", i)
		}
		return eventNumber(id)
	default: // there is none
		return nil
	}
}

func eventMembers(members []transform.Member) []any {
	out := make([]any, len(members))
	for i, m := range members {
		out[i] = map[string]any{"name": m.Name, "value": eventValue(m.Value)}
	}
	return out
}

func eventValue(v transform.Value) any {
	switch v.Kind() {
	case transform.KindBoolean:
		return goavro.Union("boolean", v.Bool())
	case transform.KindString:
		return goavro.Union("string", v.Text())
	case transform.KindNumber:
		if i, exact := exactLong(v); exact {
			return goavro.Union("long", i)
		}
		if f, err := strconv.ParseFloat(v.Text(), 64); err == nil && transform.NumberValue(f).Text() == v.Text() {
			return goavro.Union("double", f)
		}
		return eventNumber(v)
	case transform.KindArray:
		items := make([]any, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = eventValue(item)
		}
		return goavro.Union(branchList, map[string]any{"items": items})
	case transform.KindObject:
		return goavro.Union(branchObject, map[string]any{"members": eventMembers(v.Members())})
	default:
		return nil
	}
}

// exactLong returns a number if a long keeps its digits.
func exactLong(v transform.Value) (int64, bool) {
	i, err := strconv.ParseInt(v.Text(), 10, 64)
	return i, err == nil && strconv.FormatInt(i, 10) == v.Text()
}

// eventNumber keeps the digits of a number that neither a long nor a double can hold.
func eventNumber(v transform.Value) any {
	return goavro.Union(branchNumber, map[string]any{"decimal": v.Text()})
}
