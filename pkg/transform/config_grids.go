package transform

import (
	"github.com/switchback-geo/switchback/pkg/crs"
)

// GridRules say which grid files make transformations more exact (docs/crs.md).
type GridRules struct {
	// Folder has the grid files. They are read once, at the start. Defaults to none.
	Folder string `yaml:"folder,omitempty" jsonschema_description:"Folder with grid files (NTv2 .gsb, GTX .gtx), read at the start"`

	// Outside says what becomes of a position that no grid file covers: refuse, or
	// parameters, which are metres off. Defaults to refuse.
	Outside crs.Outside `yaml:"outside,omitempty" jsonschema:"enum=refuse,enum=parameters" jsonschema_description:"What becomes of a position that no grid file covers"`
}

// checkGrids checks the grid files and the systems of heights, without a look at a
// file.
func checkGrids(rules GeometryRules, faults *faultList) {
	checkWord(faults, "geometry.grids.outside", rules.Grids.Outside, crs.Outsides())
	folder, source, target := rules.Grids.Folder != "", rules.SourceHeights, rules.TargetHeights
	if !folder && rules.Grids.Outside == crs.OutsideParameters {
		faults.add("geometry.grids.outside", "there are no grid files, so nothing is outside of them", "name their folder under grids.folder, or take it away")
	}
	known := checkHeightsName(faults, "geometry.source_heights", source) && checkHeightsName(faults, "geometry.target_heights", target)
	switch {
	case (source == "") != (target == ""):
		faults.add(missingHeights(source), "heights are changed from one system to another, and only one is named", "name both, or take the other away")
	case source != "" && rules.Dimension == DimensionDropZ:
		faults.add("geometry.target_heights", "geometry.dimension: drop_z leaves no height to change", "take one of the two away")
	case source != "" && known && !folder:
		if _, err := (*crs.Grids)(nil).NewHeights(wgs84System(), source, target, crs.OutsideParameters); err != nil {
			faults.add("geometry.target_heights", err.Error(), "name the folder under geometry.grids.folder")
		}
	}
	if folder && source == "" && rules.DeclaredCRS != DeclaredUse && !gridIsKnown(rules) {
		faults.add("geometry.grids.folder", "has no effect: no grid is known between "+rules.SourceCRS+" and "+rules.TargetCRS, "take it away; docs/crs.md lists the grids")
	}
}

func missingHeights(source string) string {
	if source == "" {
		return "geometry.target_heights"
	}
	return "geometry.source_heights"
}

// checkHeightsName checks that a system of heights is known, if one is named.
func checkHeightsName(faults *faultList, path, name string) bool {
	if name == "" {
		return true
	}
	err := crs.CheckHeights(name)
	if err != nil {
		faults.add(path, err.Error(), "write one of them")
	}
	return err == nil
}

func wgs84System() *crs.CRS {
	c, _ := crs.EPSG(4326)
	return c
}

// gridIsKnown reports whether a grid is known between source and target; true when
// one of the two is not known, which is a fault of its own.
func gridIsKnown(rules GeometryRules) bool {
	source, err := crs.Lookup(rules.SourceCRS)
	target, err2 := crs.Lookup(rules.TargetCRS)
	return err != nil || err2 != nil || len((*crs.Grids)(nil).Missing(source, target)) > 0
}
