package crs_test

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/crs"
)

func Example() {
	from, err := crs.Lookup("EPSG:25832")
	if err != nil {
		fmt.Println(err)
		return
	}
	to, err := crs.Lookup("EPSG:4326")
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := crs.NewTransform(from, to)
	if err != nil {
		fmt.Println(err)
		return
	}
	lon, lat, err := t.Forward(691875.6321, 6098907.8250)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.7f, %.7f\n", lon, lat)
	fmt.Printf("within %g m: %s\n", t.Accuracy().Metres, t.Accuracy().Source)
	// Output:
	// 12.0000000, 55.0000000
	// within 1 m: EPSG:1149 ETRS89 to WGS 84 (1) (null transformation): 1 m as EPSG states
}

func ExampleLookup_axisOrder() {
	for _, name := range []string{"EPSG:4326", "urn:ogc:def:crs:EPSG::4326", "OGC:CRS84", "EPSG:3035", "urn:ogc:def:crs:EPSG::3035"} {
		c, err := crs.Lookup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, "is", c.AxisOrder())
	}
	// Output:
	// EPSG:4326 is xy
	// urn:ogc:def:crs:EPSG::4326 is yx
	// OGC:CRS84 is xy
	// EPSG:3035 is xy
	// urn:ogc:def:crs:EPSG::3035 is yx
}
