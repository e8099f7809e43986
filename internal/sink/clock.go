package sink

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// The meaning of a text in a column of dates and times depends on the record alone. The sink sets TimeZone and DateStyle
// for its statements, converts a text with an offset to UTC if the column has no time zone, and refuses words that mean
// another time at each write, such as now.

// sessionSettings returns the settings with which PostgreSQL reads and writes values as text.
func sessionSettings() [][2]string {
	return [][2]string{
		{"TimeZone", "UTC"}, {"DateStyle", "ISO, YMD"}, {"IntervalStyle", "postgres"}, {"extra_float_digits", "1"}, {"bytea_output", "hex"},
		{"array_nulls", "on"}, {"xmloption", "content"},
	}
}

// setSession returns the calls that apply the settings, for a transaction or for the session.
func setSession(transaction bool) string {
	var calls []string
	for _, s := range sessionSettings() {
		calls = append(calls, fmt.Sprintf("set_config('%s', '%s', %t)", s[0], s[1], transaction))
	}
	return strings.Join(calls, ", ")
}

// resetSession undoes setSession(false).
func resetSession() string {
	var out strings.Builder
	for _, s := range sessionSettings() {
		out.WriteString("; reset " + s[0])
	}
	return out.String()
}

// clocks returns the types whose input accepts special words.
func clocks() []string { return []string{"date", "timestamp", "timestamptz", "time", "timetz"} }

// isClock reports whether values of the type are, or contain, dates and times.
func (v *valueType) isClock() bool { return v.any(clocks()...) }

// dropsOffsets reports whether the type contains dates and times without a time zone.
func (v *valueType) dropsOffsets() bool { return v.any("timestamp", "date", "time") }

// dateAndTime matches a text with a date and a time.
const dateAndTime = "[0-9][tT ]+[0-9]"

// utc returns the expression that reads a text in the column's type, whatever the database's settings. A text with an
// offset is an instant, and a column without a time zone gets it in UTC. "" for a type that needs no conversion. Only a
// text with a time is converted through timestamptz: dates have a wider range, and 24:00 would become 00:00.
func (c column) utc(text string) string {
	switch c.Type {
	case "timestamp":
		return fmt.Sprintf("(%s::timestamptz at time zone 'UTC')", text)
	case "date":
		return fmt.Sprintf("case when %[1]s ~ '%[2]s' then (%[1]s::timestamptz at time zone 'UTC')::date else %[1]s::date end", text, dateAndTime)
	case "time":
		return fmt.Sprintf("case when %[1]s ~ '%[2]s' then (%[1]s::timestamptz at time zone 'UTC')::time "+
			"when extract(timezone from %[1]s::timetz) = 0 then %[1]s::time else (%[1]s::timetz at time zone 'UTC')::time end", text, dateAndTime)
	case "money": // it reads 1.5 by lc_monetary, as 15 if the point groups digits; that setting cannot be fixed, because it scales the stored numbers
		return text + "::numeric::money"
	case "timetz": // it does not accept a date with a T
		return fmt.Sprintf("case when %[1]s ~ '%[2]s' then %[1]s::timestamptz::timetz else %[1]s::timetz end", text, dateAndTime)
	}
	return ""
}

// specialWords returns the words that PostgreSQL accepts as a date or a time although they are not; some mean another
// time at each write.
func specialWords() []string {
	return []string{"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "allballs"}
}

// specialWord returns the first special word of a text, as PostgreSQL finds it: in any case, between any signs.
func specialWord(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') }) {
		if word = strings.ToLower(word); slices.Contains(specialWords(), word) {
			return word
		}
	}
	return ""
}

// zoned matches an offset or the name of a zone after a time.
var zoned = regexp.MustCompile(`(?i)(?:\d:\d{2}(?::\d{2}(?:[.,]\d+)?)?|\dT\d{2,6}(?:[.,]\d+)?)\s*(?:[ap]m\b)?\s*([+-]\d[\d:]*|[a-z][a-z/_]*)`)

// farOffset matches an offset of 16 hours or more.
var farOffset = regexp.MustCompile(`^[+-](?:1[6-9]|[2-9]\d)(?:$|:|\d)`)

// zone returns the offset or zone of a text, unless it is UTC.
func zone(text string) string {
	for _, found := range zoned.FindAllStringSubmatch(text, -1) {
		is := found[1]
		if strings.Trim(is, "+-0:") != "" && !slices.Contains([]string{"z", "utc", "gmt", "zulu", "bc", "ad"}, strings.ToLower(is)) {
			return is
		}
	}
	return ""
}

// checkClock refuses a value that a column of dates and times would misread. If the column itself is a date or a
// time, its text is converted, see utc; in an array, a range or a composite it cannot be.
func (t *table) checkClock(c column, v transform.Value, key []byte) error {
	if !c.values.isClock() {
		return nil
	}
	whole := slices.Contains(clocks(), c.Type)
	return c.values.texts(v, func(in *valueType, text string) error {
		if !in.isClock() {
			return nil
		}
		if fault, fix := misread(text, !whole && in.dropsOffsets()); fault != "" {
			refused := t.refused(c, key, fault, fix)
			refused.Value = text
			return refused
		}
		return nil
	})
}

// checkKey refuses the same of a key: two keys of one instant would be one row.
func (t *table) checkKey(key []byte) error {
	c := t.keyColumn
	if !c.values.isClock() {
		return nil
	}
	fault, fix := misread(string(key), c.Type != "timestamptz" && c.Type != "timetz")
	if fault == "" {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeDBData, Stage: classify.StageSink, Rule: "sink.postgis.key_column", Feature: string(key),
		Message: fmt.Sprintf("the key %q matches no row of %s: its column has the type %s, and %s", key, t.name, c.Declared, fault), Fix: fix,
	}
}

// misread returns the reason why a type of dates and times would misread a text, and what to do.
func misread(text string, dropsOffset bool) (fault, fix string) {
	if word := specialWord(text); word != "" {
		return fmt.Sprintf("the word %q is neither a date nor a time", word), "send the date or the time itself, or null"
	}
	is := zone(text)
	if farOffset.MatchString(is) {
		return fmt.Sprintf("PostgreSQL rejects time zone offsets of 16 hours or more, such as %q", is), "set type: datetime for the field in the mapping, which writes the time in UTC"
	}
	if is != "" && dropsOffset {
		return fmt.Sprintf("it would drop the time zone %q", is), "send the times in UTC, or change the type to one with time zone"
	}
	return "", ""
}
