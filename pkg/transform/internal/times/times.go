// Package times reads dates and times in the formats of a mapping rule, and writes them as RFC 3339 does. It never guesses
// a format or a time zone.
package times

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// Formats of times that are not patterns.
const (
	RFC3339 = "rfc3339"
	unix    = "unix"
	unixMS  = "unix_ms"
)

// Format is one way to write a date or time. [ParseFormat] creates it.
type Format struct {
	word   string // rfc3339, unix, unix_ms, or ""
	layout string // of package time
	zoned  bool   // a pattern has the offset
}

// directives maps those of strftime (ISO C, section 7.29.3.5; %f, %:z, %-d and %-m as in Python and GNU date) to the
// layouts of package time.
func directives() map[string]string {
	return map[string]string{
		"Y": "2006", "y": "06", "m": "01", "d": "02", "e": "_2", "-d": "2", "-m": "1", "b": "Jan", "B": "January", "j": "002",
		"H": "15", "I": "03", "p": "PM", "M": "04", "S": "05", "z": "-0700", ":z": "-07:00", "a": "Mon", "A": "Monday", "%": "%",
	}
}

// ParseFormat converts a format of the config to a layout.
func ParseFormat(format string) (Format, error) {
	switch format {
	case RFC3339, unix, unixMS:
		return Format{word: format, zoned: true}, nil
	case "":
		return Format{}, errors.New("the format is empty")
	}
	var layout strings.Builder
	seen := map[string]bool{}
	for rest := format; rest != ""; {
		literal, after, found := strings.Cut(rest, "%")
		if err := inert(literal); err != nil {
			return Format{}, err
		}
		layout.WriteString(literal)
		if !found {
			break
		}
		name := after[:min(1, len(after))]
		if name == ":" || name == "-" { // a flag and a letter
			name = after[:min(2, len(after))]
		}
		rest = after[len(name):]
		seen[name] = true
		if name == "f" { // package time reads a fraction after the seconds by itself
			if text := layout.String(); !strings.HasSuffix(text, "05.") && !strings.HasSuffix(text, "05,") {
				return Format{}, errors.New("%f must follow %S and a point or comma")
			}
			layout.WriteString("999999999")
			continue
		}
		text, known := directives()[name]
		if !known {
			return Format{}, fmt.Errorf("the directive %%%s is not known", name)
		}
		layout.WriteString(text)
	}
	hasDay := (seen["Y"] || seen["y"]) && (seen["j"] || (seen["m"] || seen["-m"] || seen["b"] || seen["B"]) && (seen["d"] || seen["-d"] || seen["e"]))
	if !hasDay {
		return Format{}, errors.New("the format gives no whole date: it needs %Y, %m and %d")
	}
	return Format{layout: layout.String(), zoned: seen["z"] || seen[":z"]}, nil
}

// inert refuses literal text that package time would read as part of a time.
func inert(literal string) error {
	first := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	second := time.Date(2022, 11, 23, 21, 42, 53, 9e8, time.FixedZone("X", 3600))
	if first.Format(literal) != literal || second.Format(literal) != literal {
		return fmt.Errorf("%q cannot stand in a format as it is; use a directive", literal)
	}
	return nil
}

// Clock reads dates and datetimes by the formats of one rule.
type Clock struct {
	Formats []Format
	Zone    *time.Location // of times without an offset; nil if there is none
}

// Reasons why a time cannot be read.
var (
	errFormat = errors.New("it is written in none of the formats")
	errZone   = errors.New("it has no offset, and the rule no time_zone")
	errGap    = errors.New("this time of day does not exist there on that day: clocks were put forward")
	errYear   = errors.New("its year has not four digits")
)

// read returns the time of a text, and whether it has an offset (or is counted from 1970).
func (c *Clock) read(text string) (at time.Time, zoned bool, err error) {
	text = strings.TrimSpace(text)
	err = errFormat
	for _, format := range c.Formats {
		t, zoned, problem := c.readAs(format, text)
		if problem == nil && (t.Year() < 0 || t.Year() > 9999) {
			problem = errYear
		}
		if problem == nil {
			return t, zoned, nil
		}
		if !errors.Is(problem, errFormat) {
			err = problem
		}
	}
	return time.Time{}, false, err
}

// readAs reads a text by one format.
func (c *Clock) readAs(format Format, text string) (t time.Time, zoned bool, err error) {
	switch {
	case format.word == unix, format.word == unixMS:
		t, err = readUnix(text, format.word == unixMS)
		return t, true, err
	case format.word == RFC3339:
		if len(text) > 10 && text[10] == ' ' { // section 5.6 allows a space in place of the T
			text = text[:10] + "T" + text[11:]
		}
		if t, err = ParseRFC3339(strings.ToUpper(text)); err == nil {
			return t, true, nil
		}
		t, err = c.local("2006-01-02T15:04:05", strings.ToUpper(text))
		return t, false, err
	case format.zoned:
		if t, err = time.Parse(format.layout, text); err != nil {
			return time.Time{}, false, errFormat
		}
		return t, true, nil
	}
	t, err = c.local(format.layout, text)
	return t, false, err
}

// rfc3339 is the grammar of RFC 3339, section 5.6, in capital letters. The standard library accepts more: offsets of 24
// hours, hours of one digit, a comma before the fraction.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$`)

// ParseRFC3339 reads a time of RFC 3339, section 5.6: with an offset of at most 23:59.
func ParseRFC3339(text string) (time.Time, error) {
	if !rfc3339.MatchString(text) {
		return time.Time{}, fmt.Errorf("%w: %q is not a time of RFC 3339", errFormat, text)
	}
	return time.Parse(time.RFC3339, text)
}

// local reads a time without an offset.
func (c *Clock) local(layout, text string) (time.Time, error) {
	wall, err := time.Parse(layout, text)
	if err != nil {
		return time.Time{}, errFormat
	}
	if c.Zone == nil {
		return wall, errZone
	}
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), c.Zone)
	if !sameWall(t, wall) {
		return t, errGap
	}
	// A local time that occurs twice is the first of the two.
	for _, shift := range []time.Duration{time.Hour, 30 * time.Minute} {
		if earlier := t.Add(-shift); sameWall(earlier, wall) {
			t = earlier
		}
	}
	return t, nil
}

func sameWall(t, wall time.Time) bool {
	return t.Day() == wall.Day() && t.Hour() == wall.Hour() && t.Minute() == wall.Minute()
}

// readUnix reads seconds or milliseconds since 1970, optionally with a fraction. It computes with the written digits: as
// a double, 1700000000.123 seconds are a microsecond less. It cuts off what is below a nanosecond.
func readUnix(text string, milliseconds bool) (time.Time, error) {
	literal, ok := numbers.FromText(text)
	if ok {
		literal, ok = numbers.WithoutExponent(literal)
	}
	exact, isNumber := new(big.Rat).SetString(literal)
	if !ok || !isNumber {
		return time.Time{}, errFormat
	}
	perUnit := int64(time.Second)
	if milliseconds {
		perUnit = int64(time.Millisecond)
	}
	if seconds := numbers.Double(literal) * float64(perUnit) / float64(time.Second); seconds < -1e12 || seconds > 1e12 {
		return time.Time{}, errYear
	}
	exact.Mul(exact, new(big.Rat).SetInt64(perUnit))
	nanoseconds := new(big.Int).Quo(exact.Num(), exact.Denom())
	whole, rest := nanoseconds.QuoRem(nanoseconds, big.NewInt(int64(time.Second)), new(big.Int))
	return time.Unix(whole.Int64(), rest.Int64()).UTC(), nil
}

// Date returns the RFC 3339 full-date of a text: the day as written, or the day of a time with an offset in the clock's
// zone.
func (c *Clock) Date(text string) (string, error) {
	written := Clock{Formats: c.Formats, Zone: time.UTC}
	t, zoned, err := written.read(text)
	if err != nil {
		return "", err
	}
	if zoned && c.Zone != nil {
		t = t.In(c.Zone)
	}
	return t.Format(time.DateOnly), nil
}

// DateTime returns the time of a text as RFC 3339 in UTC, with the fraction that it has.
func (c *Clock) DateTime(text string) (string, error) {
	t, _, err := c.read(text)
	if err != nil {
		return "", err
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return "", errYear
	}
	return t.Format(time.RFC3339Nano), nil
}

// IsDate reports whether a text is a full-date of RFC 3339.
func IsDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// IsDateTime reports whether a text is a time of RFC 3339.
func IsDateTime(text string) bool {
	_, err := ParseRFC3339(text)
	return err == nil
}
