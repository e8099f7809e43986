package sink

import (
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// misfit returns why a column cannot take the values of a property, or only some of them, or "". Values that a type
// refuses one by one (a number that is too large, a text that is no UUID) are left to the database.
func (p property) misfit(c column) (fault string, reach Reach) {
	if never := never(p.typ); strings.Contains(never, " "+c.Type+" ") || never != "" && isArray(c) && p.typ != transform.TypeArray {
		return "is of type " + c.Declared + ", and takes no value of type " + string(p.typ), ReachSome
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

// loses returns what a column drops from a value without an error.
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
