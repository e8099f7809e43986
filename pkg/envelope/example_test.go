package envelope_test

import (
	"context"
	"fmt"

	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// A record of Debezium: a row of a PostGIS table, whose geometry is EWKB.
func ExampleOpener_Open() {
	t, err := transform.New(transform.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	opener, err := envelope.New(t, envelope.Options{Format: envelope.Debezium})
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := opener.Open(context.Background(), nil, []byte(
		`{"op":"u","after":{"id":7,"owner":"Keller","geometry":{"srid":4326,"wkb":"AQEAACDmEAAAAAAAAAAAIUAAAAAAAKBHQA=="}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := t.Encode(content.Feature)
	fmt.Println(string(text), err)
	// Output:
	// {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"owner":"Keller"}} <nil>
}

// The published Avro event, framed for a schema registry.
func ExampleEventEncoder_Append() {
	t, err := transform.New(transform.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	encoder, err := envelope.NewEventEncoder()
	if err != nil {
		fmt.Println(err)
		return
	}
	feature, err := t.Decode([]byte(`{"type":"Feature","id":"p1","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"n":1.50}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := encoder.Append(envelope.AppendConfluent(nil, 7), feature)
	fmt.Printf("%x %v\n", value, err)
	// Output:
	// 00000000070204703100022a010100000000000000000021400000000000a047400202026e0a08312e35300000 <nil>
}
