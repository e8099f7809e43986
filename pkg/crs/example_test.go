package crs_test

import (
	"errors"
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

// A file in Swiss coordinates that was declared as longitude and latitude.
func ExampleRangeError() {
	from, _ := crs.Lookup("OGC:CRS84")
	to, _ := crs.Lookup("EPSG:3857")
	t, err := crs.NewTransform(from, to)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = t.Forward(2600072.4, 1199545.1)
	if outside := new(crs.RangeError); errors.As(err, &outside) {
		fmt.Println(outside.Reason)
		fmt.Println(outside.Hint())
	}
	// Output:
	// outside_source
	// these numbers look like EPSG:2056 (CH1903+ / LV95) or EPSG:3035 (ETRS89-extended / LAEA Europe) or EPSG:5070 (NAD83 / Conus Albers) or EPSG:3857 (WGS 84 / Pseudo-Mercator) or EPSG:3031 (WGS 84 / Antarctic Polar Stereographic), or like 11 others
}

func ExampleForwardPoints() {
	from, _ := crs.EPSG(4326)
	to, _ := crs.EPSG(2154)
	t, err := crs.NewTransform(from, to)
	if err != nil {
		fmt.Println(err)
		return
	}
	line := [][2]float64{{2.2945, 48.8584}, {5.3698, 43.2965}}
	if err := crs.ForwardPoints(t, line, line); err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range line {
		fmt.Printf("%.1f %.1f\n", p[0], p[1])
	}
	// Output:
	// 648237.3 6862271.7
	// 892390.2 6247035.3
}
