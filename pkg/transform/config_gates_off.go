package transform

// GateOff is a gate of a geometry that accepts everything silently.
type GateOff struct {
	Key    string // below transform, such as "geometry.simplicity"
	Word   string // the word in the config, "" if there is none
	Passes string // the accepted geometries
}

// GatesOff lists the gates of a geometry that are off, in the order in which they run.
func (c Config) GatesOff() []GateOff {
	c = c.WithDefaults()
	g := c.Geometry
	var off []GateOff
	add := func(is bool, key, word, passes string) {
		if is {
			off = append(off, GateOff{"geometry." + key, word, passes})
		}
	}
	add(g.NullGeometry == Accept, "null_geometry", string(g.NullGeometry), "features without a geometry")
	add(g.Dimension == DimensionKeep, "dimension", string(g.Dimension), "geometries with and without heights")
	add(len(g.Types) == 0, "types", "", "geometries of every type")
	add(g.EmptyGeometry == Accept, "empty_geometry", string(g.EmptyGeometry), "geometries without a position")
	add(g.ForeignMembers == Accept, "foreign_members", string(g.ForeignMembers), "geometries with members that GeoJSON does not define, which are left out")
	add(c.MinDecimals == nil || g.Coarse == Accept, "coarse", "", "coordinates with any number of decimals")
	add(g.Antimeridian == AntimeridianIgnore, "antimeridian", string(g.Antimeridian), "geometries in degrees that cross the 180th meridian, judged as if they did not")
	add(g.Simplicity == Accept, "simplicity", string(g.Simplicity), "lines that meet themselves, and points that repeat")
	add(g.Validity == ValidityRepair && g.MaxAreaChange == nil, "max_area_change", "", "repairs that change the area by any share")
	add(g.BBox != BBoxCheck, "bbox", string(g.BBox), "a bbox that does not match the geometry")
	return off
}
