package crs

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// heightTable has one line for each system of heights. It is written by
// testdata/table.py from the EPSG dataset.
//
//go:embed heights.csv
var heightTable string

// The columns of heightTable.
const (
	heightCode      = iota
	heightName      // in the EPSG dataset
	heightDatum     // EPSG code of the geographic system over whose ellipsoid the geoid is
	heightOperation // EPSG code; "" for heights over the ellipsoid itself
	heightTitle     // of the operation
	heightAccuracy
	heightFile
	heightColumns
)

// HeightCodes lists the supported systems of heights by their short names.
func HeightCodes() []string {
	var out []string
	for r := range rows(heightTable) {
		out = append(out, "EPSG:"+r[heightCode])
	}
	return out
}

// GeoidFile is a file that a system of heights needs.
type GeoidFile struct {
	Name      string // of the file
	Heights   string // short name of the system of heights, "EPSG:5773"
	Title     string // its name in the EPSG dataset
	Places    string // short name of the geographic system of the file's places
	Operation string // EPSG code and name
	Metres    float64
}

// KnownGeoids lists the files that can be used.
func KnownGeoids() []GeoidFile {
	var out []GeoidFile
	for r := range rows(heightTable) {
		if r[heightFile] != "" {
			out = append(out, GeoidFile{
				Name: r[heightFile], Heights: "EPSG:" + r[heightCode], Title: r[heightName], Places: "EPSG:" + r[heightDatum],
				Operation: "EPSG:" + r[heightOperation] + " " + r[heightTitle], Metres: r.number(heightAccuracy),
			})
		}
	}
	return out
}

// CheckHeights says whether the name is one of [HeightCodes]; the error is an
// [*UnknownHeightsError].
func CheckHeights(name string) error {
	_, err := lookupHeights(name)
	return err
}

// UnknownHeightsError says that a name is not one of a supported system of heights. It
// is permanent.
type UnknownHeightsError struct{ Name string }

// Error lists the supported ones.
func (e *UnknownHeightsError) Error() string {
	var words []string
	for r := range rows(heightTable) {
		words = append(words, "EPSG:"+r[heightCode]+" ("+r[heightName]+")")
	}
	return fmt.Sprintf("unknown system of heights %q; supported are %s", cut(e.Name), strings.Join(words, ", "))
}

// lookupHeights returns the line of a name.
func lookupHeights(name string) (row, error) {
	authority, code, _ := splitName(strings.ToUpper(strings.TrimSpace(name)))
	for r := range rows(heightTable) {
		if authority == "EPSG" && code == r[heightCode] {
			return slices.Clone(r), nil
		}
	}
	return nil, &UnknownHeightsError{Name: name}
}

// Heights carries heights from one system of heights to another, at places of one
// CRS. [Grids.NewHeights] makes it; several goroutines may use it.
type Heights struct {
	ends     [2]*surface // of the source and of the target; nil is the ellipsoid
	accuracy Accuracy
}

// surface is a geoid over an ellipsoid.
type surface struct {
	toDatum *Transform // from the CRS of the places
	grid    *heightGrid
}

// NewHeights reads the geoid files (GTX) that two systems of heights need from the
// folder, and returns the way from one to the other at places of a CRS. Heights above
// the ellipsoids of WGS 84, ETRS89 and the other datums of [HeightCodes] are taken to
// be the same. Outside of a geoid's grid there is nothing to fall back on: such a
// place is refused.
func (g *Grids) NewHeights(places *CRS, from, to string, outside Outside) (*Heights, error) {
	if places == nil || places.code == "" {
		return nil, errors.New("heights need the coordinate reference system of their places, from Lookup or EPSG")
	}
	h := &Heights{accuracy: Accuracy{Metres: arithmetic, Source: "both systems of heights are the same, so only the arithmetic counts"}}
	source, err := lookupHeights(from)
	if err != nil {
		return nil, err
	}
	target, err := lookupHeights(to)
	if err != nil {
		return nil, err
	}
	if source[heightOperation] == target[heightOperation] {
		return h, nil
	}
	var sum float64
	var words []string
	for end, r := range []row{source, target} {
		if r[heightOperation] == "" {
			continue
		}
		s, err := g.surface(places, r, outside)
		if err != nil {
			return nil, err
		}
		h.ends[end] = s
		sum += r.number(heightAccuracy)
		words = append(words, fmt.Sprintf("EPSG:%s %s (geoid file %s): %s m as EPSG states",
			r[heightOperation], r[heightTitle], s.grid.name, r[heightAccuracy]))
	}
	h.accuracy = Accuracy{Metres: max(arithmetic, sum), Source: strings.Join(words, "; ")}
	return h, nil
}

// surface opens the geoid of a line of heightTable.
func (g *Grids) surface(places *CRS, r row, outside Outside) (*surface, error) {
	base, err := EPSG(r.code(heightDatum))
	if err != nil {
		return nil, err
	}
	toDatum, err := g.NewTransform(places.WithAxisOrder(AxisXY), base, outside)
	if err != nil {
		return nil, err
	}
	grid, err := g.openHeights(r[heightFile])
	if err != nil {
		return nil, fmt.Errorf("EPSG:%s (%s): %w", r[heightCode], r[heightName], err)
	}
	return &surface{toDatum: toDatum, grid: grid}, nil
}

// MissingFileError says that a file is not in the folder of grid files.
type MissingFileError struct {
	Folder string // "" when there is none
	File   string
}

// Error says what to add.
func (e *MissingFileError) Error() string {
	if e.Folder == "" {
		return "there is no folder of grid files, and the file " + e.File + " is needed"
	}
	return "the file " + e.File + " is not in " + e.Folder
}

// openHeights reads a geoid file of the folder.
func (g *Grids) openHeights(known string) (*heightGrid, error) {
	if g == nil {
		return nil, &MissingFileError{File: known}
	}
	at := slices.IndexFunc(g.others, func(n string) bool { return strings.EqualFold(n, known) })
	if at < 0 {
		return nil, &MissingFileError{Folder: g.folder, File: known}
	}
	path := filepath.Join(g.folder, g.others[at])
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	grid, err := decodeGTX(f, size)
	if err != nil {
		return nil, inFile(path, err)
	}
	grid.name = g.others[at]
	return grid, nil
}

// Accuracy returns how far heights may be from the truth, and why.
func (h *Heights) Accuracy() Accuracy { return h.accuracy }

// Shift returns what is added to the height of a place, given as longitude or easting
// first. The error is a [*RangeError] when the place is outside of a geoid's grid.
func (h *Heights) Shift(x, y float64) (float64, error) {
	var heights [2]float64
	for i, end := range h.ends {
		if end == nil {
			continue
		}
		lon, lat, err := end.toDatum.Forward(x, y)
		if err != nil {
			return 0, err
		}
		height, ok := end.grid.at(lon, lat)
		if !ok {
			return 0, end.toDatum.refuse(ReasonOutsideGeoid, x, y, 0)
		}
		heights[i] = height
	}
	return heights[0] - heights[1], nil
}
