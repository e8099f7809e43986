package avro_test

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

func ExampleSchema_Decode() {
	schema, err := avro.Parse(`{"type": "record", "name": "Parcel", "namespace": "geo", "fields": [
		{"name": "area", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
		{"name": "owner", "type": ["null", "string"]},
		{"name": "id", "type": "long"}]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := schema.Encode(nil, map[string]any{
		"area": []byte{0x04, 0xe2}, "owner": map[string]any{"string": "Keller"}, "id": int64(9007199254740993),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := schema.Decode(data, avro.Limits{})
	fmt.Println(string(value.AppendJSON(nil)), err)
	// Output:
	// {"area":"12.50","owner":"Keller","id":9007199254740993} <nil>
}

func ExampleSchema_Fingerprint() {
	schema, err := avro.Parse(`{"type": "long", "logicalType": "timestamp-millis"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Canonical(), schema.Fingerprint())
	// Output:
	// "long" b71df49344e154d0
}
