// Package crs knows a closed set of coordinate reference systems and transforms
// plane coordinates from one to another.
//
//	from, err := crs.Lookup("EPSG:25832")
//	to, err := crs.Lookup("EPSG:4326")
//	t, err := crs.NewTransform(from, to)
//	lon, lat, err := t.Forward(691875.6321, 6098907.825)
//
// # Axis order
//
// A name says which coordinate comes first, and the two ways to write a name
// say different things:
//
//   - "EPSG:4326" is the short form of GeoJSON and of everyday use. Here it
//     always means x, y: longitude or easting first.
//   - "urn:ogc:def:crs:EPSG::4326", "http://www.opengis.net/def/crs/EPSG/0/4326"
//     and "[EPSG:4326]" mean the definition in the EPSG dataset, with the axes
//     in its order: latitude first for systems in degrees, northing first for
//     3035, 31467, 3006 and others, easting first for the rest.
//   - "OGC:CRS84" and its URN are longitude first by definition.
//
// [CRS.AxisOrder] says which it is and [CRS.WithAxisOrder] chooses the other. A
// "crs" member of GeoJSON 2008 is always x, y, whatever form its name has
// (section 2.1.1 of that text), so take WithAxisOrder([AxisXY]) there.
// [Bounds] have x and y in their names and never change.
//
// # Accuracy
//
// Two things make a result inexact. The projections themselves agree with PROJ
// within some micrometres. A change of datum is as good as the published operation,
// and [Transform.Accuracy] names each with its accuracy in metres: 1 m between WGS 84
// and ETRS89 for one, because a name such as WGS 84 does not say which realisation is
// meant, and 5 m to the British National Grid, where only a grid file knows better.
//
// [OpenGrids] reads such files (NTv2) from a folder. [Grids.NewTransform] then uses
// them in place of parameters; what it does outside of a grid is the caller's choice
// ([Outside]).
//
// A transformation is of the plane: heights are not changed, and are taken to be
// 0 where a change of datum by parameters needs one, as EPSG's methods for geographic
// 2D have it. Systems of heights are not supported. Time does not count: there are no
// epochs and no plate motion.
//
// # What it refuses
//
// A name that it does not know is an [UnknownError], which names the nearest codes, and
// never a guess. A coordinate outside what a CRS reaches
// ([CRS.Domain]) is a [RangeError]; what comes without an error is finite. A grid file
// that is damaged, or not the one that its name says, is a [GridError]. [Guess] names
// what numbers look like that cannot be what they are declared as, for people to
// decide.
//
// There are no epochs, no definitions by users, no network and no global state; a
// [CRS], a [Transform] and [Grids] may be used by several goroutines at once.
//
// # Sources
//
// IOGP Publication 373-7-2 (EPSG Guidance Note 7-2), cited by method code; the
// EPSG dataset v11.022 for parameters, areas of use and accuracies; C. F. F.
// Karney, Transverse Mercator with an accuracy of a few nanometers (2011), and
// On auxiliary latitudes (2022); L. Krüger, Konforme Abbildung des Erdellipsoids
// in der Ebene (1912); swisstopo, Formulas and constants for the calculation of
// the Swiss conformal cylindrical projection (2016); D. Junkins and S. Farley,
// NTv2 developer's guide (1995), for grid files.
package crs
