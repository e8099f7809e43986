// Package grids opens the folder of grid files that a pipeline file names, and says how
// exact the coordinates of its output are, for `consumer validate` and `consumer describe`.
//
// The files are read once, when a process or a command starts. The package does not watch
// them, and it downloads nothing.
package grids
