package envelope

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// The bytes with which the framings of Avro begin.
const (
	confluentMagic   = 0x00 // followed by a big-endian schema ID of four bytes
	confluentHeader  = 5
	singleObjectMark = "\xc3\x01" // followed by a fingerprint of eight bytes
	singleObjectSize = 10
)

// IsFramed reports whether a value begins with a schema ID or the mark of an Avro framing. No JSON text does.
func IsFramed(value []byte) bool {
	return len(value) >= confluentHeader && value[0] == confluentMagic || len(value) >= singleObjectSize && string(value[:2]) == singleObjectMark
}

// avroFeature reads the published event or a row.
func (o *Opener) avroFeature(ctx context.Context, value []byte) (*transform.Feature, error) {
	schema, datum, err := o.datum(ctx, value)
	if err != nil {
		return nil, err
	}
	if schema.Name() == EventSchemaName {
		return o.readEventRecord(datum)
	}
	return o.row(datum, "", GeometryGeoJSON)
}

// datum reads a datum with the schema that its framing names.
func (o *Opener) datum(ctx context.Context, value []byte) (*avro.Schema, transform.Value, error) {
	schema, body, err := o.Frame(ctx, value)
	if err != nil {
		return nil, transform.Value{}, err
	}
	limits := avro.Limits{MaxDepth: o.limits.MaxDepth, MaxLiteralBytes: o.limits.MaxLiteralBytes}
	if schema.Name() == EventSchemaName { // a level of JSON is up to three levels there
		limits.MaxDepth = 3*limits.MaxDepth + 4
	}
	datum, err := schema.Decode(body, limits)
	return schema, datum, avroFault(err)
}

// CutConfluent splits a value in the Confluent wire format into the ID of its schema and the rest.
func CutConfluent(value []byte) (id int, body []byte, ok bool) {
	if len(value) < confluentHeader || value[0] != confluentMagic {
		return 0, value, false
	}
	return int(binary.BigEndian.Uint32(value[1:])), value[confluentHeader:], true
}

// Frame finds the schema of an Avro value and where its datum begins. The errors are those of [Opener.Open].
func (o *Opener) Frame(ctx context.Context, value []byte) (schema *avro.Schema, datum []byte, err error) {
	id, body, confluent := CutConfluent(value)
	switch {
	case len(value) >= singleObjectSize && string(value[:2]) == singleObjectMark:
		fingerprint := avro.Fingerprint(value[2:singleObjectSize])
		if schema := o.schemas[fingerprint]; schema != nil {
			return schema, value[singleObjectSize:], nil
		}
		return nil, nil, classify.WithClass(classify.Row, withValue(fault(classify.CodeSchemaUnknown, RuleSchemaID, "", "no schema has the fingerprint "+fingerprint.String(),
			"add the schema that the producer writes with to source.avro.schemas"), fingerprint.String()))
	case confluent:
		if o.options.Registry == nil {
			return nil, nil, classify.WithClass(classify.Row, withValue(fault(classify.CodeSchemaUnknown, RuleSchemaID, "", "the record names schema "+strconv.Itoa(id)+" of a registry, but no registry is configured",
				"set schema_registry.url"), strconv.Itoa(id)))
		}
		schema, err := o.options.Registry.SchemaByID(ctx, id)
		if err != nil {
			return nil, nil, schemaFault(err, id)
		}
		return schema, body, nil
	case len(value) > 0 && value[0] == 1:
		return nil, nil, fault(classify.CodeAvroDecode, RuleFraming, "", "the value begins with 1: the framing with a GUID of the schema is not supported",
			"let the serializer write the schema id before the value")
	}
	return nil, nil, withValue(fault(classify.CodeAvroDecode, RuleFraming, "", "the value begins neither as the Confluent wire format (00) nor as single-object encoding (c3 01)",
		"write one of them; bare Avro does not name its schema"), hex.EncodeToString(value[:min(len(value), singleObjectSize)]))
}

// schemaFault distinguishes an unusable schema from a registry that does not answer. It returns the registry's error
// unchanged, with the stage.
func schemaFault(err error, id int) error {
	var broken *avro.SchemaError
	if !errors.As(err, &broken) {
		return classify.WithStage(classify.StageDecode, err)
	}
	e := fault(classify.CodeSchemaUnknown, RuleSchemaID, "", "schema "+strconv.Itoa(id)+" cannot be used: "+broken.Message, "register a valid one")
	e.Err = err
	return classify.WithClass(classify.Row, e)
}

// AppendConfluent appends the header of the Confluent wire format. The datum follows it.
func AppendConfluent(dst []byte, id int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, confluentMagic), uint32(id)) //nolint:gosec // ids of registries are 31 bits
}

// AppendSingleObject appends the header of single-object encoding. The datum follows it.
func AppendSingleObject(dst []byte, schema *avro.Schema) []byte {
	fingerprint := schema.Fingerprint()
	return append(append(dst, singleObjectMark...), fingerprint[:]...)
}
