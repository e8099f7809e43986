// Package topojson reads the TopoJSON files of npm packages (us-atlas, world-atlas) for tests.
package topojson
