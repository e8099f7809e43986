package main

import (
	"fmt"
	"strconv"

	"github.com/switchback-geo/switchback/internal/dlq"
)

const (
	mostValued = 20 // groups whose values are counted
	mostValues = 5  // of a group that a table shows
)

// valueNotes says which values they are, below the row of a group.
func valueNotes(v *dlq.Values) []string {
	if v.Known == 0 {
		return []string{fmt.Sprintf("no value of the oldest %s is refused by today's transform", count(v.Asked, "dead letter"))}
	}
	shown := v.Each[:min(len(v.Each), mostValues)]
	lines, rest := make([]string, 0, len(shown)+1), v.Known
	for _, one := range shown {
		lines = append(lines, fmt.Sprintf("%*d × %s at %s", len(strconv.Itoa(shown[0].Letters)), one.Letters, one.Text, one.Path))
		rest -= one.Letters
	}
	if rest > 0 {
		others := len(v.Each) - len(shown)
		line := fmt.Sprintf("%s with %s", count(rest, "dead letter"), count(others, "other value"))
		if rest == others {
			line = count(others, "other value") + ", once each"
		}
		if rest == 1 {
			line = "1 other value, once"
		}
		lines = append(lines, line)
	}
	return append(lines, "of the oldest "+count(v.Asked, "dead letter"))
}
