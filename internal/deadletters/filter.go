package deadletters

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Filter selects dead letters. Its parts are combined with AND, the values of one part with OR; an empty part selects
// everything.
type Filter struct {
	IDs       []string      `json:"ids,omitempty"`
	Codes     []string      `json:"codes,omitempty"`     // classify.Code
	Groups    []string      `json:"groups,omitempty"`    // fingerprints
	Statuses  []Status      `json:"statuses,omitempty"`  // an unreadable state matches none
	Features  []string      `json:"features,omitempty"`  // feature IDs
	Pipelines []string      `json:"pipelines,omitempty"` // that wrote the dead letter
	Runs      []string      `json:"runs,omitempty"`      // run IDs
	Headers   []HeaderMatch `json:"headers,omitempty"`   // of the DLQ record
	BBox      *BBox         `json:"bbox,omitempty"`      // meets the feature's own bbox; a dead letter without one does not match
	Text      string        `json:"text,omitempty"`      // occurs in message, key, feature ID or value, verbatim
	Since     time.Time     `json:"since,omitzero"`      // died at or after; absolute (see ResolveTime)
	Until     time.Time     `json:"until,omitzero"`      // died before; absolute
	Limit     int           `json:"limit,omitempty"`     // at most this many dead letters, the oldest first; 0 is all
}

// maxValues bounds the values of one part of a filter: a database accepts no longer lists.
const maxValues = 10_000

// Check returns the faults of a person's filter, or nil.
func (f Filter) Check() error {
	if n := max(len(f.IDs), len(f.Codes), len(f.Groups), len(f.Statuses), len(f.Features), len(f.Pipelines), len(f.Runs), len(f.Headers)); n > maxValues {
		return fmt.Errorf("one flag has %d values, at most %d can be; use another filter, or several calls", n, maxValues)
	}
	for _, s := range f.Statuses {
		if !s.Valid() {
			return fmt.Errorf("unknown status %q; use one of %v", string(s), Statuses())
		}
	}
	for _, h := range f.Headers {
		if err := h.check(); err != nil {
			return err
		}
	}
	if err := plainText("text", f.Text); err != nil {
		return err
	}
	if f.Limit < 0 {
		return fmt.Errorf("limit is %d; use a number from 0 (0 is all)", f.Limit)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return fmt.Errorf("since %s is not before until %s", f.Since.Format(time.RFC3339), f.Until.Format(time.RFC3339))
	}
	return nil
}

// plainText refuses text that cannot be searched in every dead letter alike: the SQL index has U+FFFD for each invalid
// byte, and for the character 0.
func plainText(part, text string) error {
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\uFFFD") {
		return fmt.Errorf("%s %q is not plain text: it contains a character 0 or U+FFFD (which replaces bytes that are not text), or is not UTF-8", part, header.Clip(text, 80))
	}
	return nil
}

// FilterText has the parts of a filter as an operator writes them. An empty part selects everything.
type FilterText struct {
	Statuses     []string
	Headers      []string // see ParseHeaderMatch
	BBox         string   // see ParseBBox
	Since, Until string   // see ResolveTime
}

// ReadInto parses the parts into a filter with absolute times: ages count from now, once. After an error, part names the
// invalid part. [Filter.Check] checks the values.
func (t FilterText) ReadInto(f *Filter, now time.Time) (part string, err error) {
	for _, word := range t.Statuses {
		f.Statuses = append(f.Statuses, Status(word))
	}
	for _, text := range t.Headers {
		m, err := ParseHeaderMatch(text)
		if err != nil {
			return "header", err
		}
		f.Headers = append(f.Headers, m)
	}
	if t.BBox != "" {
		box, err := ParseBBox(t.BBox)
		if err != nil {
			return "bbox", err
		}
		f.BBox = &box
	}
	if t.Since != "" {
		if f.Since, err = ResolveTime(t.Since, now); err != nil {
			return "since", err
		}
	}
	if t.Until != "" {
		if f.Until, err = ResolveTime(t.Until, now); err != nil {
			return "until", err
		}
	}
	return "", nil
}

// Parts yields the name and the text of each part of a filter, as [FilterText] and the flags of commands name them, with
// absolute times.
func (f Filter) Parts() iter.Seq2[string, string] {
	var parts [][2]string
	add := func(name string, values ...string) {
		for _, value := range values {
			parts = append(parts, [2]string{name, value})
		}
	}
	add("id", f.IDs...)
	add("code", f.Codes...)
	add("group", f.Groups...)
	for _, s := range f.Statuses {
		add("status", string(s))
	}
	add("feature", f.Features...)
	add("pipeline", f.Pipelines...)
	add("run", f.Runs...)
	for _, h := range f.Headers {
		add("header", h.String())
	}
	if f.BBox != nil {
		add("bbox", f.BBox.String())
	}
	if f.Text != "" {
		add("text", f.Text)
	}
	if !f.Since.IsZero() {
		add("since", f.Since.Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		add("until", f.Until.Format(time.RFC3339Nano))
	}
	if f.Limit > 0 {
		add("limit", strconv.Itoa(f.Limit))
	}
	return func(yield func(string, string) bool) {
		for _, part := range parts {
			if !yield(part[0], part[1]) {
				return
			}
		}
	}
}

// ResolveTime returns the absolute time of an operator's text: an RFC 3339 time, a date (midnight UTC), or an age before
// now such as 90m, 36h or 7d. It is called once, when the command starts, so that a plan and its execution select the
// same dead letters.
func ResolveTime(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	age, err := parseAge(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time; use 2026-11-03T14:00:00Z, 2026-11-03, or an age such as 90m, 36h, 7d", text)
	}
	return now.Add(-age).UTC(), nil
}

func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	age, err := time.ParseDuration(text)
	if err == nil && age < 0 {
		return 0, fmt.Errorf("negative age %s", text)
	}
	return age, err
}

// HeaderMatch matches a header of a DLQ record: a producer's, or one of [SearchableHeaders].
type HeaderMatch struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"` // exactly this; nil matches any
}

// ParseHeaderMatch parses "name" or "name=value".
func ParseHeaderMatch(text string) (HeaderMatch, error) {
	name, value, has := strings.Cut(text, "=")
	m := HeaderMatch{Name: name}
	if has {
		m.Value = &value
	}
	return m, m.check()
}

// String returns the form that [ParseHeaderMatch] parses.
func (m HeaderMatch) String() string {
	if m.Value == nil {
		return m.Name
	}
	return m.Name + "=" + *m.Value
}

// SearchableHeaders lists the control headers that a filter may name: those about the feature for which a filter has no
// other part.
func SearchableHeaders() []string {
	return []string{header.KeyLineage, header.KeyCare, header.KeySovereignty}
}

// Searchable reports whether a filter may name a header.
func Searchable(name string) bool {
	return !header.IsControl(name) || slices.Contains(SearchableHeaders(), name)
}

// MaxHeaderValue is the longest header value that a filter can match, in bytes. Longer ones are found by name only: the
// SQL index keeps no more of them.
const MaxHeaderValue = 1024

func (m HeaderMatch) check() error {
	if m.Name == "" {
		return fmt.Errorf("header %q has no name; use name or name=value", m.String())
	}
	if !Searchable(m.Name) {
		return fmt.Errorf("header %s cannot be searched; use code, group, feature, pipeline, run or the other flags instead (of the control headers, %s can)",
			header.Clip(m.Name, 80), strings.Join(SearchableHeaders(), ", "))
	}
	if m.Value != nil && len(*m.Value) > MaxHeaderValue {
		return fmt.Errorf("header %s: the value has %d bytes, but a filter can match at most %d; filter by the name alone", header.Clip(m.Name, 80), len(*m.Value), MaxHeaderValue)
	}
	return plainText("header", m.String())
}

// BBox is a rectangle in the coordinates of the source, including its edges. If West is above East, it crosses the
// antimeridian (RFC 7946, section 5.2).
type BBox struct{ West, South, East, North float64 }

// ParseBBox parses "west,south,east,north", the form of the header switchback-bbox.
func ParseBBox(text string) (BBox, error) {
	parts := strings.Split(text, ",")
	if len(parts) != 4 {
		return BBox{}, fmt.Errorf("%q is not a bounding box; use west,south,east,north such as 9.4,47.0,9.7,47.3", header.Clip(text, 80))
	}
	var n [4]float64
	for i, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return BBox{}, fmt.Errorf("%q is not a bounding box: %q is not a finite number", header.Clip(text, 80), header.Clip(part, 40))
		}
		n[i] = v
	}
	if n[1] > n[3] {
		return BBox{}, fmt.Errorf("%q is not a bounding box: south %g is above north %g", header.Clip(text, 80), n[1], n[3])
	}
	return BBox{West: n[0], South: n[1], East: n[2], North: n[3]}, nil
}

// String returns the form that [ParseBBox] parses.
func (b BBox) String() string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return text(b.West) + "," + text(b.South) + "," + text(b.East) + "," + text(b.North)
}

// Crosses reports whether the rectangle crosses the antimeridian.
func (b BBox) Crosses() bool { return b.West > b.East }

// MarshalText returns the form that [ParseBBox] parses.
func (b BBox) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText parses the form of [BBox.MarshalText].
func (b *BBox) UnmarshalText(text []byte) error {
	parsed, err := ParseBBox(string(text))
	if err == nil {
		*b = parsed
	}
	return err
}
