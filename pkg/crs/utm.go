package crs

import "fmt"

// utmReach is how many degrees of longitude a zone is used to either side of its
// central meridian. Norway keeps all its data in zone 33, which is 3° wide on
// each side, out to 13°; the series holds its 5 nm beyond 30°.
const utmReach = 30

// utm returns a zone of the Universal Transverse Mercator system, or nil.
func utm(epsg int) *CRS {
	switch zone := epsg % 100; {
	case epsg >= 32601 && epsg <= 32660:
		return utmZone("WGS 84", wgs84, zone, false, zoneArea(zone, 0, 84), Bounds{MinY: -85, MaxY: 85})
	case epsg >= 32701 && epsg <= 32760:
		return utmZone("WGS 84", wgs84, zone, true, zoneArea(zone, -80, 0), Bounds{MinY: -85, MaxY: 85})
	case epsg >= 25828 && epsg <= 25838:
		return utmZone("ETRS89", etrs89, zone, false, etrs89Areas()[zone-28], Bounds{MinY: 25, MaxY: 87})
	case epsg >= 26910 && epsg <= 26919:
		return utmZone("NAD83", nad83, zone, false, nad83Areas()[zone-10], Bounds{MinY: 10, MaxY: 87})
	}
	return nil
}

// utmZone makes a zone; of reach only the latitudes count.
func utmZone(base string, d datum, zone int, south bool, area, reach Bounds) *CRS {
	o := origin{lon: float64(6*zone - 183), x: 500000}
	hemisphere := "N"
	if south {
		o.y, hemisphere = 10000000, "S"
	}
	reach.MinX, reach.MaxX = -utmReach, utmReach
	return &CRS{
		name: fmt.Sprintf("%s / UTM zone %d%s", base, zone, hemisphere), authority: AxisXY,
		datum: d, area: area, domain: reach,
		projection: newTransverseMercator(d.ellipsoid(), o, 0.9996), meridian: o.lon,
	}
}

// zoneArea is the area of use of a zone that is used all round the Earth.
func zoneArea(zone int, south, north float64) Bounds {
	west := float64(6*zone - 186)
	return Bounds{west, south, west + 6, north}
}

// etrs89Areas has the areas of use of zones 28N to 38N. The last one is deprecated
// in the EPSG dataset, and kept here because data name it.
func etrs89Areas() []Bounds {
	return []Bounds{
		{-16.1, 34.93, -11.99, 72.44},
		{-12, 34.91, -6, 74.13},
		{-6, 35.26, 0.01, 80.49},
		{0, 37, 6.01, 82.45},
		{6, 36.53, 12.01, 84.01},
		{12, 34.79, 18.01, 84.01},
		{18, 34.76, 24.01, 84.01},
		{24, 41.24, 30.01, 84.01},
		{30, 42.56, 36.01, 84.01},
		{36, 72.99, 38.01, 79.07},
		{42, 37, 48, 41.65},
	}
}

// nad83Areas has the areas of use of zones 10N to 19N. The other zones of NAD83
// are left out: EPSG:1188, the null transformation, does not hold in all of
// Alaska and Hawaii, for which the dataset has others.
func nad83Areas() []Bounds {
	return []Bounds{
		{-126, 30.54, -119.99, 81.8},
		{-120, 30.88, -114, 83.5},
		{-114, 31.33, -108, 84},
		{-108, 28.98, -102, 84},
		{-102, 25.83, -96, 84},
		{-96, 25.61, -90, 84},
		{-90, 23.97, -84, 84},
		{-84, 23.81, -78, 84},
		{-78, 28.28, -72, 84},
		{-72, 14.92, -66, 84},
	}
}
