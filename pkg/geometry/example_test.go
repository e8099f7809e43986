package geometry_test

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/geometry"
)

// What Debezium and PostGIS send: extended well-known binary, with the SRID inside.
func ExampleDecode() {
	g, err := geometry.Decode(geometry.EWKBHex, []byte("01010000A0E6100000000000000000214000000000008047400000000000007B40"), geometry.Limits{})
	fmt.Println(g.Shape, g.Z, g.SRID, err)

	_, err = geometry.Decode(geometry.WKBHex, []byte("01010000A0E6100000000000000000214000000000008047400000000000007B40"), geometry.Limits{})
	fmt.Println(err)
	// Output:
	// [8.5 47] [432] 4326 <nil>
	// wkb_hex: the type code 0xa0000001 has flags of EWKB, the dialect of PostGIS; name an ewkb format
}

func ExampleAppend() {
	g, err := geometry.Decode(geometry.EWKT, []byte("SRID=4326;LINESTRING(8.5 47 430, 8.6 47.1 435)"), geometry.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g.SRID = 0
	text, err := geometry.Append(nil, geometry.WKT, g)
	fmt.Println(string(text), err)
	// Output:
	// LINESTRING Z (8.5 47 430, 8.6 47.1 435) <nil>
}
