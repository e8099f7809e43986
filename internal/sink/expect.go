package sink

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// expected describes the results of the mapping, as far as the configuration determines them.
type expected struct {
	properties map[string]property // those that the configuration names
	others     bool                // there may be further ones
	heights    heights
	kinds      []transform.GeometryType // that occur; empty for all
	noGeometry bool                     // a feature may have none
}

// property is one property of the mapped feature.
type property struct {
	typ    transform.Type // "" if it is unknown
	always bool           // every feature has a value
}

// column returns the type of a new column for it.
func (p property) column() string { return columnType(p.typ) }

// heights is whether mapped geometries have a third ordinate.
type heights int

const (
	someHeights heights = iota
	noHeights
	allHeights
)

func expect(mapping transform.Config, steps []config.EnrichStep) expected {
	mapping = mapping.WithDefaults()
	e := expected{properties: map[string]property{}, others: mapping.Unmapped == transform.UnmappedKeep, kinds: kindsOf(mapping.Geometry)}
	e.noGeometry = mapping.Geometry.NullGeometry != transform.Reject
	for _, f := range mapping.Fields {
		e.properties[f.To] = property{typ: f.Type, always: f.Required}
	}
	for name, value := range mapping.Constants {
		e.properties[name] = property{always: value != nil}
	}
	for _, step := range steps {
		for name := range step.Set {
			if _, known := e.properties[name]; !known {
				e.properties[name] = property{}
			}
		}
		if step.SetProvider != "" {
			e.properties[step.SetProvider] = property{typ: transform.TypeString, always: true}
		}
	}
	switch mapping.Geometry.Dimension {
	case transform.DimensionDropZ, transform.DimensionRejectZ:
		e.heights = noHeights
	case transform.DimensionRequireZ:
		e.heights = allHeights
	default: // each record decides
	}
	return e
}

// kindsOf returns the geometry types that pass.
func kindsOf(rules transform.GeometryRules) []transform.GeometryType {
	if rules.OtherTypes == transform.ValidityFlag {
		return nil
	}
	return rules.Types
}

// names returns the properties, sorted.
func (e expected) names() []string { return slices.Sorted(maps.Keys(e.properties)) }

// misfit returns the reason why a column cannot store the values of a property, or only some of them, or "". Values
// that a type refuses one by one (a number that is too large, a text that is not a UUID) are left to the database.
func (p property) misfit(c column) (fault string, reach Reach) {
	if never := never(p.typ); strings.Contains(never, " "+c.Type+" ") || never != "" && isArray(c) && p.typ != transform.TypeArray {
		return "is of type " + c.Declared + ", and accepts no value of type " + string(p.typ), ReachSome
	}
	if loss := loses(p.typ, c); loss != "" {
		return "is of type " + c.Declared + ", and " + loss + " of a " + string(p.typ), ReachNone
	}
	return "", ReachNone
}

func isArray(c column) bool { return strings.HasPrefix(c.Type, "_") }

// never lists the column types that have a form for no value of a type; "" if any may.
func never(t transform.Type) string {
	const (
		times   = " date timestamp timestamptz time timetz interval "
		numbers = " int2 int4 int8 float4 float8 numeric money "
		others  = " uuid bytea geometry geography inet cidr macaddr "
	)
	switch t {
	case transform.TypeInteger, transform.TypeNumber, transform.TypeDecimal:
		return times + " bool " + others
	case transform.TypeBoolean:
		return times + numbers + others
	case transform.TypeDate, transform.TypeDateTime:
		return numbers + " bool interval " + others
	case transform.TypeArray, transform.TypeObject:
		return times + numbers + " bool " + others
	default:
		return ""
	}
}

// loses returns the part of a value that a column drops without an error.
func loses(t transform.Type, c column) string {
	scaled := c.Type == "numeric" && strings.Contains(c.Declared, "(")
	switch {
	case t == transform.TypeDateTime && c.Type == "timestamp":
		return "drops the offset"
	case t == transform.TypeDateTime && c.Type == "date":
		return "drops the time"
	case t == transform.TypeDateTime && (c.Type == "time" || c.Type == "timetz"):
		return "drops the date"
	case t == transform.TypeInteger && (c.Type == "float4" || c.Type == "float8"), t == transform.TypeNumber && c.Type == "float4",
		t == transform.TypeDecimal && (c.Type == "float4" || c.Type == "float8"):
		return "drops digits"
	case (t == transform.TypeNumber || t == transform.TypeDecimal) && scaled:
		return "rounds digits"
	}
	return ""
}

// Reach is the part of the writes that a mismatch prevents.
type Reach string

// The reaches.
const (
	// ReachAll: no record can be written. The consumer does not start; while it runs, everything waits.
	ReachAll Reach = "all"
	// ReachSome: records with a value that the table lacks cannot be written. The consumer does not start; while it
	// runs, they wait.
	ReachSome Reach = "some"
	// ReachRare is the same for a value that the mapping allows and may never produce. The consumer starts, and logs it.
	ReachRare Reach = "rare"
	// ReachNone: every record can be written, some of them changed. The consumer logs it.
	ReachNone Reach = "none"
)

// Reaches lists every reach, the widest first.
func Reaches() []Reach { return []Reach{ReachAll, ReachSome, ReachRare, ReachNone} }

// Mismatch is one difference between a table and the rows to write.
type Mismatch struct {
	Column string // "" for the table itself
	Fault  string
	Fix    string // an SQL statement, or words if no statement would do
	Reach  Reach
}

// String returns one line.
func (m Mismatch) String() string {
	text := m.Fault
	if m.Column != "" {
		text = fmt.Sprintf("column %q %s", m.Column, m.Fault)
	}
	if m.Fix != "" {
		text += ": " + m.Fix
	}
	return text
}

// refuses reports whether the consumer does not start with it.
func (m Mismatch) refuses() bool { return m.Reach == ReachAll || m.Reach == ReachSome }

// TableError is the reason why a table cannot be written. No record is the cause, and none is lost: writes wait until
// the table is corrected.
type TableError struct {
	Table      string
	Mismatches []Mismatch
	Err        error // the database's error, if there is one
}

// Unwrap returns the database's error.
func (e *TableError) Unwrap() error { return e.Err }

// Error lists every mismatch with its correction.
func (e *TableError) Error() string {
	if len(e.Mismatches) == 1 {
		return fmt.Sprintf("sink.postgis: table %s does not fit: %s", e.Table, e.Mismatches[0])
	}
	lines := make([]string, len(e.Mismatches))
	for i, m := range e.Mismatches {
		lines[i] = "\n  " + m.String()
	}
	return fmt.Sprintf("sink.postgis: table %s does not fit:%s", e.Table, strings.Join(lines, ""))
}

// FailureCode makes it a failure of the table and not of a record.
func (e *TableError) FailureCode() classify.Code { return classify.CodeDBSchema }

// FailureStage returns the stage of the sink.
func (e *TableError) FailureStage() classify.Stage { return classify.StageSink }
