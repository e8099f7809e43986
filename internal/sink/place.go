package sink

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// place is what a column takes of geometries, by its type or by its constraints.
type place struct {
	SRID int    // 0 for any
	Dims int    // 0 for any
	Kind string // of the geometries, as PostGIS writes it: PointZ, POINT; "" or Geometry for any

	constrained bool // the SRID, by a constraint and not by the type
}

// enforced is a constraint as AddGeometryColumn of PostGIS makes it, and as PostgreSQL shows it.
var enforced = regexp.MustCompile(`^CHECK \(\((?:\(*)(?:\w+\.)?(st_srid|st_ndims|geometrytype)\((?:"[^"]+"|\w+)\) = (?:'(\w+)'::text|(\d+))\)?(?: OR \((?:"[^"]+"|\w+) IS NULL\))?\)\)$`)

// constrain takes what a constraint says. One of another form says nothing here; the database refuses what breaks it, row by row.
func (p *place) constrain(check string) {
	found := enforced.FindStringSubmatch(check)
	if found == nil {
		return
	}
	number, _ := strconv.Atoi(found[3]) // digits, or nothing
	switch {
	case found[1] == "st_srid" && p.SRID == 0: // else the type says so already
		p.SRID, p.constrained = number, true
	case found[1] == "st_ndims" && p.Dims == 0:
		p.Dims = number
	case found[1] == "geometrytype" && p.Kind == "":
		p.Kind = found[2]
	}
}

// flat says that the column takes no heights, tall that it takes nothing without.
func (p place) flat() bool { return p.Dims == 2 }

func (p place) tall() bool { return p.Dims >= 3 && !p.measured() }

// measured says that it wants measures, which no feature has.
func (p place) measured() bool { return p.Dims == 4 || strings.HasSuffix(strings.ToUpper(p.Kind), "M") }

// takes says whether it takes geometries of a type.
func (p place) takes(kind transform.GeometryType) bool {
	name := strings.TrimRight(strings.ToUpper(p.Kind), "ZM")
	return slices.Contains([]string{"", "GEOMETRY", strings.ToUpper(string(kind))}, name)
}
