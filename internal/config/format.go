package config

import "github.com/switchback-geo/switchback/pkg/envelope"

// SourceRow says how a row becomes a feature: an Avro record, or a row of a table that Debezium sends.
type SourceRow struct {
	// ID is the column of the id: its name, or names joined by dots. Defaults to id, when the row has one.
	ID string `yaml:"id"`
	// Geometry is the column of the geometry; it must be there and may be null. Defaults to geometry.
	Geometry string `jsonschema:"minLength=1,default=geometry" yaml:"geometry"`
	// GeometryFormat is the form of the geometry. Bytes are meant by wkb and ewkb, text by all others. Defaults to struct for Debezium, else to geojson.
	GeometryFormat envelope.GeometryFormat `jsonschema:"enum=geojson,enum=struct,enum=wkb,enum=wkb_hex,enum=wkb_base64,enum=ewkb,enum=ewkb_hex,enum=ewkb_base64,enum=wkt,enum=ewkt,default=geojson" yaml:"geometry_format"`
	// Properties is a column that holds the properties. Defaults to none: every column that is neither id nor geometry is one.
	Properties string `yaml:"properties"`
	// DropMeasures leaves the M ordinates of a geometry out instead of refusing it. Defaults to false.
	DropMeasures bool `jsonschema:"default=false" yaml:"drop_measures"`
}

// SourceJSONFG says how JSON-FG is read.
type SourceJSONFG struct {
	// Unsupported says what becomes of a place that GeoJSON has no form for: reject refuses the feature, geometry takes the geometry that stands beside it. Defaults to reject.
	Unsupported envelope.Unsupported `jsonschema:"enum=reject,enum=geometry,default=reject" yaml:"unsupported"`
}

// SourceCloudEvents says what CloudEvents carry.
type SourceCloudEvents struct {
	// Data is the format of the data of an event; auto goes by its data content type. Defaults to auto.
	Data envelope.Format `jsonschema:"enum=auto,enum=geojson,enum=jsonfg,enum=avro,enum=debezium,default=auto" yaml:"data"`
}

// SourceDebezium says how change events are written.
type SourceDebezium struct {
	// Serialization is json for Kafka Connect's JSON converter, with or without schema, or avro. Defaults to json.
	Serialization envelope.Serialization `jsonschema:"enum=json,enum=avro,default=json" yaml:"serialization"`
	// Unwrapped says that Debezium's ExtractNewRecordState has taken the row out of its envelope. Defaults to false.
	Unwrapped bool `jsonschema:"default=false" yaml:"unwrapped"`
	// UnavailableValue is the connector's unavailable.value.placeholder: a text, or bytes behind hex:. A row with it makes a dead letter, since the database did not send the column. Defaults to __debezium_unavailable_value.
	UnavailableValue string `jsonschema:"minLength=1,maxLength=1000,default=__debezium_unavailable_value" yaml:"unavailable_value"`
}

// SourceAvro says where schemas come from besides the registry.
type SourceAvro struct {
	// Schemas lists files with the Avro schemas of records in single-object encoding, found by their fingerprints. The published feature event is always known. Defaults to none.
	Schemas []string `jsonschema:"uniqueItems=true" yaml:"schemas"`
}

// OutputAvroKeys say how Avro is written.
type OutputAvroKeys struct {
	// Schema is the published schema that outputs are written with: a file of schemas/ without its ending. Defaults to feature-event.v1, the only one of this version.
	Schema string `jsonschema:"enum=feature-event.v1,default=feature-event.v1" yaml:"schema"`
	// Framing is what stands before a datum: confluent, the id of the schema in the registry, or single_object, its fingerprint, which needs no registry. Defaults to confluent.
	Framing AvroFraming `jsonschema:"enum=confluent,enum=single_object,default=confluent" yaml:"framing"`
	// Subject is what the schema is registered under. Defaults to output.topic with -value.
	Subject string `jsonschema:"maxLength=255" yaml:"subject"`
	// Register registers the schema when the registry does not have it; without it the schema is only looked up. Defaults to true.
	Register bool `jsonschema:"default=true" yaml:"register"`
}

// reads reports whether records of a format can come in, as they are or as the data of a CloudEvent.
func (s Source) reads(format envelope.Format) bool {
	return s.Format == format || s.Format == envelope.CloudEvents && s.CloudEvents.Data == format
}

// mayReadAvro reports whether a record may be Avro: because the file says so, or leaves it to the record.
func (s Source) mayReadAvro() bool {
	byTheRecord := s.Format == envelope.Auto || s.Format == envelope.CloudEvents && s.CloudEvents.Data == envelope.Auto
	return byTheRecord || s.reads(envelope.Avro) || s.reads(envelope.Debezium) && s.Debezium.Serialization == envelope.SerializationAvro
}

// mayReadJSONFG is the same of JSON-FG.
func (s Source) mayReadJSONFG() bool {
	return s.reads(envelope.JSONFG) || s.Format == envelope.Auto || s.Format == envelope.CloudEvents && s.CloudEvents.Data == envelope.Auto
}

// fillFormat derives the form of a row's geometry.
func fillFormat(c *Config) {
	if c.Source.reads(envelope.Debezium) && !c.origins.byHand("source.row.geometry_format") {
		c.Source.Row.GeometryFormat = envelope.GeometryStruct
	}
}
