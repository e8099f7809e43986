package transform

import (
	"github.com/switchback-geo/switchback/pkg/crs"
)

// GridRules name the grid files that make transformations more exact (docs/crs.md).
type GridRules struct {
	// Folder is the folder with the grid files. They are read once, at the start. Defaults to none.
	Folder string `yaml:"folder,omitempty" jsonschema_description:"Folder with grid files (NTv2, .gsb), read at the start"`

	// Outside decides about a position that no grid file covers: refuse, or parameters, which are metres less exact.
	// Defaults to refuse.
	Outside crs.Outside `yaml:"outside,omitempty" jsonschema:"enum=refuse,enum=parameters" jsonschema_description:"What becomes of a position that no grid file covers"`
}

// checkGrids checks the rules of grid files without reading a file.
func checkGrids(rules GeometryRules, faults *faultList) {
	checkWord(faults, "geometry.grids.outside", rules.Grids.Outside, crs.Outsides())
	folder := rules.Grids.Folder != ""
	if !folder && rules.Grids.Outside == crs.OutsideParameters {
		faults.add("geometry.grids.outside", "there are no grid files, so nothing is outside of them", "name their folder under grids.folder, or remove it")
	}
	if folder && rules.DeclaredCRS != DeclaredUse && !gridIsKnown(rules) {
		faults.add("geometry.grids.folder", "has no effect: no grid is known between "+rules.SourceCRS+" and "+rules.TargetCRS, "remove it; docs/crs.md lists the grids")
	}
}

// gridIsKnown reports whether a grid is known between source and target. It returns true if one of the two is unknown,
// because that is a fault of its own.
func gridIsKnown(rules GeometryRules) bool {
	source, err := crs.Lookup(rules.SourceCRS)
	target, err2 := crs.Lookup(rules.TargetCRS)
	return err != nil || err2 != nil || len((*crs.Grids)(nil).Missing(source, target)) > 0
}
