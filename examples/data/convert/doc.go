// Command convert makes the data files of the examples package from two published npm packages: vega-datasets (the
// earthquakes of one week, as USGS published them) and us-atlas (the US counties of the Census Bureau, as TopoJSON).
//
// It only changes the container: one line per feature instead of one file, and the TopoJSON arcs of a county joined
// to GeoJSON rings. It repairs nothing. Winding, self-intersections and rings with too few positions stay as they
// are, because the examples need real defects.
//
// The README beside the data describes how to run it.
package main
