package sample

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// field is what the sample shows of one property.
type field struct {
	path, name string
	parent     *field // the object that it is a member of; nil at the top
	members    int    // fields below it
	present    int    // not null
	kinds      counted
	values     map[string]bool // of texts and numbers, at most maxValues
	repeated   bool            // a value came twice, or there are too many values to know
	looks      map[look]int    // number of values of each form
	examples   []example       // one for each kind and rule
}

// counted is the number of values of each kind.
type counted struct{ text, empty, date, datetime, whole, long, number, boolean, array, object int }

const (
	maxValues = MaxFeatures
	longest   = 256 // bytes of a value that are compared
)

var whole = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// note adds one value.
func (f *field) note(v transform.Value) {
	if v.IsNull() {
		return
	}
	f.present++
	f.count(v)
	if k := v.Kind(); k == transform.KindString || k == transform.KindNumber {
		f.compare(v.Text())
		f.look(v, lookOf(v))
	} else {
		f.repeated = true
		f.look(v, look{})
	}
}

// count counts one value by its kind.
func (f *field) count(v transform.Value) {
	switch v.Kind() {
	case transform.KindString:
		f.text(v.Text())
	case transform.KindNumber:
		f.number(v.Text())
	case transform.KindBoolean:
		f.kinds.boolean++
	case transform.KindArray:
		f.kinds.array++
	case transform.KindObject:
		f.kinds.object++
	case transform.KindNull:
	}
}

func (f *field) text(text string) {
	_, noDay := time.Parse(time.DateOnly, text)
	_, noTime := time.Parse(time.RFC3339, text)
	switch {
	case text == "":
		f.kinds.empty++
	case noDay == nil:
		f.kinds.date++
	case noTime == nil:
		f.kinds.datetime++
	default:
		f.kinds.text++
	}
}

func (f *field) number(text string) {
	switch _, err := strconv.ParseInt(text, 10, 64); {
	case err == nil:
		f.kinds.whole++
	case whole.MatchString(text):
		f.kinds.long++ // more than 64 bits
	default:
		f.kinds.number++
	}
}

func (f *field) compare(text string) {
	if f.values[text] || len(text) > longest || len(f.values) == maxValues {
		f.repeated = true
		return
	}
	f.values[strings.Clone(text)] = true
}

// kind returns the type of all values, or of more than half of them. mixed means that no type accepts them.
func (f *field) kind() (t transform.Type, mixed bool) {
	k := f.kinds
	numbers := k.whole + k.long + k.number
	most := func(n int) bool { return 2*n > f.present }
	switch {
	case f.present == 0:
		return "", false
	case most(k.object):
		return transform.TypeObject, false
	case most(k.array):
		return transform.TypeArray, false
	case most(k.boolean):
		return transform.TypeBoolean, false
	case most(k.whole) && k.long+k.number == 0:
		return transform.TypeInteger, false
	case most(numbers): // digits as they came, however many
		return transform.TypeNumber, false
	case most(k.date):
		return transform.TypeDate, false
	case most(k.datetime):
		return transform.TypeDateTime, false
	case k.array+k.object > 0:
		return "", true // only values without a type accept it
	}
	return transform.TypeString, numbers+k.boolean > 0
}

// others counts the values of another type.
func (f *field) others(t transform.Type) int { return f.present - f.kinds.of(t) }

// of counts the values of a type.
func (k counted) of(t transform.Type) int {
	switch t {
	case transform.TypeObject:
		return k.object
	case transform.TypeArray:
		return k.array
	case transform.TypeBoolean:
		return k.boolean
	case transform.TypeInteger:
		return k.whole
	case transform.TypeNumber:
		return k.whole + k.long + k.number
	case transform.TypeDate:
		return k.date
	case transform.TypeDateTime:
		return k.datetime
	default:
		return k.text + k.empty + k.date + k.datetime
	}
}

// split reports whether the members of an object become fields of their own.
func (f *field) split() bool { return f.members > 0 && f.kinds.object == f.present }

// mapped reports whether it is a field of the mapping: not an object whose members are fields, nor a member of an object
// that is kept whole.
func (f *field) mapped() bool {
	for p := f.parent; p != nil; p = p.parent {
		if !p.split() {
			return false
		}
	}
	return !f.split()
}
