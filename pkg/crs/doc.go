// Package crs supports a closed set of coordinate reference systems and transforms plane coordinates from one to
// another.
//
//	from, err := crs.Lookup("EPSG:25832")
//	to, err := crs.Lookup("EPSG:4326")
//	t, err := crs.NewTransform(from, to)
//	lon, lat, err := t.Forward(691875.6321, 6098907.825)
//
// # Axis order
//
// The form of a name decides which coordinate comes first:
//
//   - "EPSG:4326" is the short form of GeoJSON and of everyday use. Here it
//     always means x, y: longitude or easting first.
//   - "urn:ogc:def:crs:EPSG::4326", "http://www.opengis.net/def/crs/EPSG/0/4326"
//     and "[EPSG:4326]" mean the definition in the EPSG dataset with its axis
//     order: latitude first for systems in degrees, northing first for 3035,
//     31467, 3006 and others, easting first for the rest.
//   - "OGC:CRS84" and its URN are longitude first by definition.
//
// [CRS.AxisOrder] returns the order and [CRS.WithAxisOrder] changes it. A "crs" member of GeoJSON 2008 always means x,
// y, whatever the form of its name (section 2.1.1 of that text); use WithAxisOrder([AxisXY]) for it. The X and Y of
// [Bounds] never change their meaning.
//
// # Accuracy
//
// A result has two sources of error. The projections agree with PROJ to within some micrometres. A change of datum is
// only as accurate as the published operation. [Transform.Accuracy] names each operation with its accuracy in metres:
// for example 1 m between WGS 84 and ETRS89, because the name WGS 84 does not tell the realisation, and 5 m to the
// British National Grid without a grid file.
//
// [OpenGrids] reads grid files (NTv2) from a folder. [Grids.NewTransform] uses them instead of parameters. The caller
// chooses what happens outside of a grid ([Outside]).
//
// A transformation is two-dimensional. It does not change heights. Where a change of datum by parameters needs a height
// it uses 0, as the EPSG methods for geographic 2D systems do. The package supports no vertical systems, no epochs and
// no plate motion.
//
// # What it refuses
//
// An unknown name is an [UnknownError] that lists the nearest codes. The package never guesses a CRS. A coordinate
// outside of the domain of a CRS ([CRS.Domain]) is a [RangeError]; a result without an error is finite. A grid file that
// is damaged, or that is not the grid of its name, is a [GridError]. [Guess] lists the systems to which numbers could
// belong if they cannot be what was declared; people decide.
//
// There are no definitions by users, no network access and no global state. Several goroutines may use a [CRS], a
// [Transform] or [Grids] at once.
//
// # Sources
//
// IOGP Publication 373-7-2 (EPSG Guidance Note 7-2), cited by method code; the EPSG dataset v11.022 for parameters,
// areas of use and accuracies; C. F. F. Karney, Transverse Mercator with an accuracy of a few nanometers (2011), and On
// auxiliary latitudes (2022); L. Krüger, Konforme Abbildung des Erdellipsoids in der Ebene (1912); swisstopo, Formulas
// and constants for the calculation of the Swiss conformal cylindrical projection (2016); D. Junkins and S. Farley, NTv2
// developer's guide (1995), for grid files.
package crs
