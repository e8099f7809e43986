package crs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Grids are the grid files of a folder, read and checked. [OpenGrids] creates it. It is immutable, even if the files
// change, and several goroutines may use it. A nil *Grids has no files.
type Grids struct {
	folder string
	loaded map[int]*gridFile // by the EPSG code of the operation
	files  []GridFile
	others []string
}

// GridFile is one loaded file.
type GridFile struct {
	// Name is the name of the file in its folder.
	Name string
	// Operation is the EPSG operation of the file, with code and name.
	Operation string
	// From and To are the geographic systems of the two datums, the older one first.
	From, To string
	// Metres is the accuracy of the operation.
	Metres float64
	// Areas are the longitudes and latitudes that the file covers, on the older datum.
	Areas []Bounds
	// Nodes is the number of points with a shift. Each takes 8 bytes of memory.
	Nodes int
}

// maxEntries is the largest number of files in a folder. A folder with more is the wrong one.
const maxEntries = 10_000

// OpenGrids reads the files of a folder whose names are those of known grids ([KnownGrids]), in either case. It ignores
// other files; [Grids.Others] lists them. It returns errors of the file system, and a [*GridError] for a file that is
// damaged or not the grid of its name.
func OpenGrids(folder string) (*Grids, error) {
	names, err := listFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("grid files: %w", err)
	}
	g := &Grids{folder: folder, loaded: map[int]*gridFile{}}
	taken := map[[2]datum]string{}
	for r := range rows(shiftTable) {
		s := r.shift()
		name, reversed := s.file(names)
		if name == "" {
			continue
		}
		ends := [2]datum{s.from, s.to}
		if other := taken[ends]; other != "" {
			return nil, fmt.Errorf("grid files: %s has %s and %s, which are for the same datums (%s and %s): keep one of them",
				folder, other, name, s.from.name(), s.to.name())
		}
		taken[ends] = name
		file, err := openShifts(folder, name, reversed, &s)
		if err != nil {
			return nil, err
		}
		g.loaded[s.epsg] = file
		g.files = append(g.files, file.describe(&s))
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	g.others = names
	return g, nil
}

// Folder returns the path of the folder.
func (g *Grids) Folder() string { return g.folder }

// Files lists the loaded files.
func (g *Grids) Files() []GridFile { return slices.Clone(g.files) }

// Others lists the files of the folder that were not read because their names are not those of known grids.
func (g *Grids) Others() []string { return slices.Clone(g.others) }

// KnownGrids lists the names of the supported grid files, each with its operation. Areas and Nodes are empty.
func KnownGrids() []GridFile {
	var out []GridFile
	for r := range rows(shiftTable) {
		s := r.shift()
		for _, name := range s.files {
			out = append(out, GridFile{
				Name: strings.TrimPrefix(name, "!"), Operation: s.title(), From: s.from.code(), To: s.to.code(), Metres: s.accuracy,
			})
		}
	}
	return out
}

// of is the [gridSource] of the loaded files.
func (g *Grids) of(s *shift) *gridFile {
	if g == nil {
		return nil
	}
	return g.loaded[s.epsg]
}

// listFolder returns the names of the entries of a folder, without subfolders.
func listFolder(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	entries, err := f.ReadDir(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > maxEntries:
		return nil, fmt.Errorf("%s has more than %d files: name a folder that has grid files only", folder, maxEntries)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// file returns the name of the file of an operation among names, or "".
func (s *shift) file(names []string) (name string, reversed bool) {
	for _, known := range s.files {
		known, reversed := strings.CutPrefix(known, "!")
		at := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, known) })
		if at >= 0 {
			return names[at], reversed
		}
	}
	return "", false
}

// openFile opens a regular file and follows links. It refuses a pipe, which would never end.
func openFile(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, fmt.Errorf("grid file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &GridError{File: path, Offset: -1, Problem: "it is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("grid file: %w", err)
	}
	return f, info.Size(), nil
}

// openShifts reads an NTv2 file and checks that it is the grid of the operation.
func openShifts(folder, name string, reversed bool, s *shift) (*gridFile, error) {
	path := filepath.Join(folder, name)
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	// If the ellipsoids differ, no point has the same coordinates on both.
	holes := s.from.ellipsoid() != s.to.ellipsoid()
	parts, err := decodeNTv2(f, size, holes)
	if err != nil {
		return nil, inFile(path, err)
	}
	file := newGridFile(name, reversed, parts)
	if problem := file.implausible(s); problem != "" {
		return nil, &GridError{File: path, Offset: -1, Problem: problem}
	}
	return file, nil
}

// newGridFile returns a file with the given parts.
func newGridFile(name string, reversed bool, parts []gridPart) *gridFile {
	f := &gridFile{name: name, reversed: reversed, parts: parts}
	inner := map[int]bool{}
	for _, p := range parts {
		for _, child := range p.children {
			inner[child] = true
		}
	}
	for i := range parts {
		if !inner[i] {
			f.tops = append(f.tops, i)
		}
	}
	return f
}

// describe returns the public description of the file.
func (f *gridFile) describe(s *shift) GridFile {
	d := GridFile{Name: f.name, Operation: s.title(), From: s.from.code(), To: s.to.code(), Metres: s.accuracy}
	for _, p := range f.parts {
		d.Nodes += p.columns * p.rows
	}
	for _, i := range f.tops {
		d.Areas = append(d.Areas, f.parts[i].box)
	}
	return d
}

// A file under the name of another grid would move every point to a wrong place. Therefore the nodes are compared with
// the parameters between the datums. The measured files differ by 0.1 to 2.4 m in the median. Single nodes do not count:
// far out at sea a grid is extrapolated.
const (
	maxDisagreement = 20.  // metres, of the median node
	comparedNodes   = 5000 // at most, per part
)

// implausible returns why the shifts of a file cannot be those of its operation, or "". It ignores nodes without a
// shift, but at least one node must have one.
func (f *gridFile) implausible(s *shift) string {
	w := route(s.from, s.to, noGrids)
	steps := stepsOf(w.legs)
	var off []float64
	for i := range f.parts {
		p := &f.parts[i]
		for n := 0; n < p.columns*p.rows; n += 1 + p.columns*p.rows/comparedNodes {
			if !math.IsNaN(float64(p.values[2*n])) {
				off = append(off, f.disagreement(p, n, steps))
			}
		}
	}
	if len(off) == 0 {
		return "no node has a shift"
	}
	slices.Sort(off)
	if middle := off[len(off)/2]; !(middle < maxDisagreement) {
		return fmt.Sprintf("half of its nodes are moved by %.0f m and more to elsewhere than %s has them: this is not the grid that the name says",
			middle, s.title())
	}
	return ""
}

// disagreement returns the distance in metres between a node after its shift and the same node after the steps.
func (f *gridFile) disagreement(p *gridPart, n int, steps []datumStep) float64 {
	lon, lat := p.box.MaxX-float64(n%p.columns)*p.stepX, p.box.MinY+float64(n/p.columns)*p.stepY
	x, y := lon-float64(p.values[2*n+1])/3600, lat+float64(p.values[2*n])/3600
	if f.reversed {
		lon, lat, x, y = x, y, lon, lat
	}
	for i := range steps {
		lon, lat, _ = steps[i].apply(lon, lat)
	}
	return math.Hypot(math.Remainder(x-lon, 360)*math.Cos(radians(lat)), y-lat) * metresPerDegree
}
