package sink

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// form is how a property is written for its column. The column's type reads the text.
type form int

const (
	formText      form = iota // plain text
	formRewritten             // plain text, as valueType.rewritten returns it
	formJSON                  // as JSON
	formParts                 // as JSON, for a composed type: an array, a composite
)

func (c column) form() form {
	switch {
	case c.Type == "json", c.Type == "jsonb":
		return formJSON
	case c.Parts:
		return formParts
	case c.values.rewrites && c.values.of == nil:
		return formRewritten
	default:
		return formText
	}
}

// prepare encodes the geometry of a row as EWKB. It refuses a geometry that PostGIS cannot store.
func (t *table) prepare(r *Row) (err error) {
	if r.deletes() || r.Feature.Geometry.IsNull() {
		return nil
	}
	g := r.Feature.Geometry
	if err := uneven(r.Key, g); err != nil {
		return err
	}
	r.ewkb, err = geometry.Append(nil, geometry.EWKB, geometry.Geometry{Shape: g.Shape, Z: g.Z, SRID: int32(t.srid)}) //nolint:gosec // EPSG codes are small
	return err
}

// copyHeader begins a COPY file in binary form: its signature, no flags, no extension (PostgreSQL's manual, COPY,
// "Binary Format").
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// encoder writes rows in the binary form of COPY: the number of fields, then each field with its length.
type encoder struct {
	out   []byte
	cells []*transform.Value // of the current row, by column
}

// rows writes the whole file.
func (e *encoder) rows(t *table, rows []*Row) {
	e.out = append(e.out[:0], copyHeader...)
	e.cells = make([]*transform.Value, len(t.columns))
	for _, r := range rows {
		e.row(t, r)
	}
	e.out = append(e.out, 0xff, 0xff)
}

func (e *encoder) row(t *table, r *Row) {
	e.out = binary.BigEndian.AppendUint16(e.out, uint16(t.stageFields()+t.width())) //nolint:gosec // a table has at most 1600 columns
	e.bytes(r.Key)
	e.integer(r.Version.Number)
	e.integer(r.Version.Offset)
	e.boolean(r.deletes())
	e.text(r.ContentHash)
	e.text(r.Source)
	switch {
	case !t.claims:
	case r.deletes():
		e.null()
	default:
		e.bytes(r.RowKey)
	}
	if r.ewkb == nil {
		e.null()
	} else {
		e.bytes(r.ewkb)
	}
	e.properties(t, r)
}

// properties writes the text of each column, and the other properties as one object.
func (e *encoder) properties(t *table, r *Row) {
	clear(e.cells)
	var others []*transform.Member
	if !r.deletes() {
		for i := range r.Feature.Properties {
			p := &r.Feature.Properties[i]
			if column, known := t.index[p.Name]; known {
				e.cells[column] = &p.Value
			} else {
				others = append(others, p)
			}
		}
	}
	for i, v := range e.cells {
		e.cell(v, t.forms[i], t.columns[i].values, t.binary)
	}
	switch {
	case t.rest == "":
	case r.deletes():
		e.null()
	default:
		e.object(others)
	}
}

func (e *encoder) cell(v *transform.Value, f form, in *valueType, binary config.BinaryText) {
	switch {
	case v == nil || v.IsNull():
		e.null()
	case f == formParts && in.rewrites:
		e.measured(func() { e.out = in.rewritten(*v, binary).AppendJSON(e.out) })
	case f == formJSON, f == formParts:
		e.measured(func() { e.out = v.AppendJSON(e.out) })
	case f == formRewritten:
		e.text(in.rewritten(*v, binary).Text())
	default:
		e.text(v.Text())
	}
}

func (e *encoder) object(members []*transform.Member) {
	e.measured(func() {
		e.out = append(e.out, '{')
		for i, p := range members {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			e.out = append(transform.StringValue(p.Name).AppendJSON(e.out), ':')
			e.out = p.Value.AppendJSON(e.out)
		}
		e.out = append(e.out, '}')
	})
}

// measured writes a field whose length is known afterwards.
func (e *encoder) measured(write func()) {
	at := len(e.out)
	e.length(0)
	write()
	binary.BigEndian.PutUint32(e.out[at:], uint32(len(e.out)-at-4)) //nolint:gosec // a batch has a few MiB
}

func (e *encoder) length(n int) {
	e.out = binary.BigEndian.AppendUint32(e.out, uint32(n)) //nolint:gosec // a batch has a few MiB
}

func (e *encoder) null() { e.out = append(e.out, 0xff, 0xff, 0xff, 0xff) }

func (e *encoder) bytes(b []byte) {
	e.length(len(b))
	e.out = append(e.out, b...)
}

func (e *encoder) text(s string) {
	e.length(len(s))
	e.out = append(e.out, s...)
}

func (e *encoder) integer(n int64) {
	e.length(8)
	e.out = binary.BigEndian.AppendUint64(e.out, uint64(n)) //nolint:gosec // the bits as they are
}

func (e *encoder) boolean(b bool) {
	e.length(1)
	if b {
		e.out = append(e.out, 1)
	} else {
		e.out = append(e.out, 0)
	}
}

// maxExponent bounds the exponent of a number that is expanded; a whole-number column has 19 digits.
const maxExponent = 30

// maxDigits bounds the length of a number that is computed with.
const maxDigits = 1000

// wholeDigits writes a whole number such as 12.0, 1e3 or 5.0e1 with its digits alone.
func wholeDigits(number string) string {
	_, exponent, found := strings.Cut(strings.ToLower(number), "e")
	if !found && !strings.Contains(number, ".") || len(number) > maxDigits {
		return number
	}
	if n, err := strconv.Atoi(exponent); found && (err != nil || n > maxExponent || n < -maxExponent) {
		return number
	}
	exact, ok := new(big.Rat).SetString(number)
	if !ok || !exact.IsInt() {
		return number
	}
	return exact.Num().String()
}
