package envelope

// Format is the format of a record's value.
type Format string

// The formats.
const (
	Auto        Format = "auto"        // by the headers; without any, Avro by its mark, otherwise GeoJSON
	GeoJSON     Format = "geojson"     // a Feature (RFC 7946)
	JSONFG      Format = "jsonfg"      // a Feature of OGC JSON-FG 1.0
	CloudEvents Format = "cloudevents" // CloudEvents 1.0, binary or structured by the content type
	Avro        Format = "avro"        // Confluent wire format, or single-object encoding
	Debezium    Format = "debezium"    // a change event of a table
)

// Formats lists every [Format].
func Formats() []Format { return []Format{Auto, GeoJSON, JSONFG, CloudEvents, Avro, Debezium} }

// Split is what happens to a FeatureCollection.
type Split string

// What happens to it.
const (
	SplitNone     Split = "none"     // it is refused: a record is one feature
	SplitFeatures Split = "features" // its features are read
)

// Splits lists every [Split].
func Splits() []Split { return []Split{SplitNone, SplitFeatures} }

// Unsupported is what happens to a JSON-FG feature whose place GeoJSON cannot represent.
type Unsupported string

// What happens to it.
const (
	UnsupportedReject   Unsupported = "reject"   // the feature is refused
	UnsupportedGeometry Unsupported = "geometry" // its geometry is used if it is not null
)

// Unsupporteds lists every [Unsupported].
func Unsupporteds() []Unsupported { return []Unsupported{UnsupportedReject, UnsupportedGeometry} }

// Serialization is how a change event of Debezium is written.
type Serialization string

// The serializations.
const (
	SerializationJSON Serialization = "json" // Kafka Connect's JSON converter, with or without schema
	SerializationAvro Serialization = "avro" // Confluent wire format, or single-object encoding
)

// Serializations lists every [Serialization].
func Serializations() []Serialization { return []Serialization{SerializationJSON, SerializationAvro} }

// GeometryFormat is the form of a geometry in a row.
type GeometryFormat string

// The forms. wkb and ewkb mean bytes of Avro or of Kafka Connect's JSON; the others are text.
const (
	GeometryGeoJSON    GeometryFormat = "geojson"     // a geometry object, or its text
	GeometryStruct     GeometryFormat = "struct"      // Debezium's {"srid": …, "wkb": …}, where wkb is EWKB in practice
	GeometryWKB        GeometryFormat = "wkb"         // bytes
	GeometryWKBHex     GeometryFormat = "wkb_hex"     // text
	GeometryWKBBase64  GeometryFormat = "wkb_base64"  // text
	GeometryEWKB       GeometryFormat = "ewkb"        // bytes
	GeometryEWKBHex    GeometryFormat = "ewkb_hex"    // text
	GeometryEWKBBase64 GeometryFormat = "ewkb_base64" // text
	GeometryWKT        GeometryFormat = "wkt"         // text
	GeometryEWKT       GeometryFormat = "ewkt"        // text
)

// GeometryFormats lists every [GeometryFormat].
func GeometryFormats() []GeometryFormat {
	return []GeometryFormat{
		GeometryGeoJSON, GeometryStruct, GeometryWKB, GeometryWKBHex, GeometryWKBBase64, GeometryEWKB, GeometryEWKBHex, GeometryEWKBBase64,
		GeometryWKT, GeometryEWKT,
	}
}
