package deadletters

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
		return time.Time{}, fmt.Errorf("%q is no time; use 2026-11-03T14:00:00Z, 2026-11-03, or an age such as 90m, 36h, 7d", text)
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
