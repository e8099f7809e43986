package sample

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// field has what the sample shows of one property.
type field struct {
	path, name string
	parent     *field // the object that it is a member of; nil at the top
	members    int    // fields below it
	present    int    // not null
	kinds      counted
	values     map[string]bool // of texts and numbers, at most maxValues
	repeated   bool            // a value occurred twice, or there are too many values to know
	looks      map[look]int    // number of values of each form
	examples   []example       // one for each kind and rule
}

// kind is the kind of a value.
type kind int

// The kinds.
const (
	kindText kind = iota
	kindEmpty
	kindDate
	kindTime
	kindWhole
	kindLong // a whole number of more than 64 bits
	kindNumber
	kindBoolean
	kindArray
	kindObject
	numKinds // their number
)

// counted is the number of values of each kind.
type counted [numKinds]int

const (
	maxValues = MaxFeatures
	longest   = 256 // bytes of a value that are compared
)

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// note adds one value.
func (f *field) note(v transform.Value) {
	if v.IsNull() {
		return
	}
	f.present++
	kind := kindOf(v)
	f.kinds[kind]++
	if k := v.Kind(); k == transform.KindString || k == transform.KindNumber {
		f.compare(v.Text())
		f.look(v, kind, lookOf(v))
	} else {
		f.repeated = true
		f.look(v, kind, look{})
	}
}

// kindOf returns the kind of a value that is not null.
func kindOf(v transform.Value) kind {
	_, noDay := time.Parse(time.DateOnly, v.Text())
	_, noTime := time.Parse(time.RFC3339, v.Text())
	_, noInteger := strconv.ParseInt(v.Text(), 10, 64)
	switch k := v.Kind(); {
	case k == transform.KindBoolean:
		return kindBoolean
	case k == transform.KindArray:
		return kindArray
	case k == transform.KindObject:
		return kindObject
	case k == transform.KindNumber && noInteger == nil:
		return kindWhole
	case k == transform.KindNumber && wholeNumber.MatchString(v.Text()):
		return kindLong
	case k == transform.KindNumber:
		return kindNumber
	case v.Text() == "":
		return kindEmpty
	case noDay == nil:
		return kindDate
	case noTime == nil:
		return kindTime
	}
	return kindText
}

// compare records whether the text occurred before.
func (f *field) compare(text string) {
	if f.values[text] || len(text) > longest || len(f.values) == maxValues {
		f.repeated = true
		return
	}
	f.values[strings.Clone(text)] = true
}

// kind returns the type of all values, or of more than half of them. mixed means that no type accepts them.
func (f *field) kind() (t transform.Type, mixed bool) {
	if f.present == 0 {
		return "", false
	}
	for _, t := range []transform.Type{transform.TypeObject, transform.TypeArray, transform.TypeBoolean, transform.TypeInteger, transform.TypeNumber, transform.TypeDate, transform.TypeDateTime} {
		if t == transform.TypeInteger && f.kinds[kindLong]+f.kinds[kindNumber] > 0 {
			continue // digits as they were, however many
		}
		if 2*f.kinds.of(t) > f.present {
			return t, false
		}
	}
	if f.kinds[kindArray]+f.kinds[kindObject] > 0 {
		return "", true // only values without a type accept it
	}
	return transform.TypeString, f.kinds.of(transform.TypeNumber)+f.kinds[kindBoolean] > 0
}

// others counts the values of another type.
func (f *field) others(t transform.Type) int { return f.present - f.kinds.of(t) }

// of counts the values of a type.
func (k counted) of(t transform.Type) (n int) {
	for _, kind := range kindsOf(t) {
		n += k[kind]
	}
	return n
}

// kindsOf returns the kinds that a type accepts.
func kindsOf(t transform.Type) []kind {
	switch t {
	case transform.TypeObject:
		return []kind{kindObject}
	case transform.TypeArray:
		return []kind{kindArray}
	case transform.TypeBoolean:
		return []kind{kindBoolean}
	case transform.TypeInteger:
		return []kind{kindWhole}
	case transform.TypeNumber:
		return []kind{kindWhole, kindLong, kindNumber}
	case transform.TypeDate:
		return []kind{kindDate}
	case transform.TypeDateTime:
		return []kind{kindTime}
	default:
		return []kind{kindText, kindEmpty, kindDate, kindTime}
	}
}

// split reports whether the members of an object become fields of their own.
func (f *field) split() bool { return f.members > 0 && f.kinds[kindObject] == f.present }

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

// look is the form of a value: a day or a time that one rule would read, a number, or neither.
type look struct {
	rule    string
	written written
}

func lookOf(v transform.Value) look {
	if v.Kind() == transform.KindNumber { // a rule's thousands and decimal are about texts
		return look{looksLike(v.Text(), true), written{number: true}}
	}
	if rule := looksLike(v.Text(), false); rule != "" {
		return look{rule: rule}
	}
	return look{written: readWritten(v.Text())}
}

// example is the first value of a kind with a form.
type example struct {
	kind kind
	look look
	text string
}

// look counts the form of a value.
func (f *field) look(v transform.Value, kind kind, what look) {
	f.looks[what]++
	if slices.ContainsFunc(f.examples, func(e example) bool { return e.kind == kind && e.look == what }) {
		return
	}
	text := strings.ToValidUTF8(string(v.AppendJSON(nil)), "�")
	if r := []rune(text); len(r) > maxExample {
		text = string(r[:maxExample]) + "…"
	}
	f.examples = append(f.examples, example{kind, what, strings.ReplaceAll(comment(text), `\"`, `"`)})
}

const maxExample = 40 // characters of a value in a comment

// looksLike returns the rule that would read more than half of the values, "" for none, and a value that it would not
// read.
func (f *field) looksLike() (rule string, others int, example string) {
	reads := func(l look) bool { return l.rule == rule }
	for l, n := range f.looks {
		if l.rule != "" && 2*n > f.present {
			rule = l.rule
		}
	}
	if rule == "" {
		rule, reads = numberRule(f.looks)
	}
	for l, n := range f.looks {
		if !reads(l) {
			others += n
		}
	}
	if 2*others >= f.present {
		return "", 0, ""
	}
	for _, e := range f.examples {
		if !reads(e.look) {
			return rule, others, e.text
		}
	}
	return rule, 0, ""
}

// unlike returns the first value of another type.
func (f *field) unlike(t transform.Type) string {
	for _, e := range f.examples {
		if !slices.Contains(kindsOf(t), e.kind) {
			return e.text
		}
	}
	return ""
}

// zone is an example, because the data does not contain the zone.
const zone = ", time_zone: Europe/Zurich"

// Days and times as data often has them.
var (
	localSeconds = regexp.MustCompile(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d$`)
	localMinutes = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d$`)
	dotted       = regexp.MustCompile(`^\d\d\.\d\d\.\d{4}$`)
	slashed      = regexp.MustCompile(`^\d\d/\d\d/\d{4}$`)
)

// Numbers from earliest to before latest look like Unix times of data, in seconds: 1990 to 2050.
const earliest, latest = 631_152_000, 2_524_608_000

// looksLike returns the rule that would read a value as a day or a time, or "". It is a question, because a number can
// be an identifier.
func looksLike(text string, number bool) string {
	n, err := strconv.ParseInt(text, 10, 64)
	switch whole := number && err == nil; {
	case whole && n >= earliest && n < latest:
		return "Unix seconds? type: datetime, formats: [unix]"
	case whole && n >= earliest*1000 && n < latest*1000:
		return "Unix milliseconds? type: datetime, formats: [unix_ms]"
	case number:
		return ""
	case localSeconds.MatchString(text):
		return `a time without an offset? type: datetime, formats: ["%Y-%m-%d` + text[10:11] + `%H:%M:%S"]` + zone
	case localMinutes.MatchString(text):
		return `a time without an offset? type: datetime, formats: ["%Y-%m-%d %H:%M"]` + zone
	case dotted.MatchString(text):
		return `a day? type: date, formats: ["%d.%m.%Y"]`
	case slashed.MatchString(text):
		return `a day? type: date, formats: ["%d/%m/%Y"] (or "%m/%d/%Y")`
	}
	return ""
}
