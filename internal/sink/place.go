package sink

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// place is what a column accepts of geometries, by its type or its constraints.
type place struct {
	SRID int    // 0 for any
	Dims int    // 0 for any
	Kind string // of the geometries, as PostGIS writes it: PointZ, POINT; "" or Geometry for any

	constrained bool // a constraint sets the SRID, not the type
}

// enforced matches a constraint that PostGIS's AddGeometryColumn creates, as PostgreSQL shows it.
var enforced = regexp.MustCompile(`^CHECK \(\((?:\(*)(?:\w+\.)?(st_srid|st_ndims|geometrytype)\((?:"[^"]+"|\w+)\) = (?:'(\w+)'::text|(\d+))\)?(?: OR \((?:"[^"]+"|\w+) IS NULL\))?\)\)$`)

// constrain applies a constraint. A constraint of another form is ignored; the database refuses violations row by row.
func (p *place) constrain(check string) {
	found := enforced.FindStringSubmatch(check)
	if found == nil {
		return
	}
	number, _ := strconv.Atoi(found[3]) // digits, or nothing
	switch {
	case found[1] == "st_srid" && p.SRID == 0: // otherwise the type sets it already
		p.SRID, p.constrained = number, true
	case found[1] == "st_ndims" && p.Dims == 0:
		p.Dims = number
	case found[1] == "geometrytype" && p.Kind == "":
		p.Kind = found[2]
	}
}

// flat reports whether the column accepts no heights, tall whether it requires them.
func (p place) flat() bool { return p.Dims == 2 }

func (p place) tall() bool { return p.Dims >= 3 && !p.measured() }

// measured reports whether it requires measures, which no feature has.
func (p place) measured() bool { return p.Dims == 4 || strings.HasSuffix(strings.ToUpper(p.Kind), "M") }

// takes reports whether it accepts geometries of a type.
func (p place) takes(kind transform.GeometryType) bool {
	name := strings.TrimRight(strings.ToUpper(p.Kind), "ZM")
	return slices.Contains([]string{"", "GEOMETRY", strings.ToUpper(string(kind))}, name)
}
