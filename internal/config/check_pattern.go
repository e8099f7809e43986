package config

import (
	"fmt"
	"regexp/syntax"
	"strconv"
)

// Limits of regular expressions, in instructions: repetitions such as (a{30}){30} make many of a few letters, and a compiled
// instruction takes some 40 bytes.
const (
	maxPattern  = 100_000   // of one
	maxPatterns = 1_000_000 // of all in a file
)

// patterns refuses regular expressions that are too large to be compiled, before anybody does.
func (c checker) patterns() (small bool) {
	total, small := 0, true
	for i, field := range c.cfg.Transform.Fields {
		parsed, err := syntax.Parse(field.Extract, syntax.Perl)
		if err != nil {
			continue // the mapping says what is wrong with it
		}
		n := instructions(parsed)
		if total = min(total+n, 2*maxPatterns); n <= maxPattern && total <= maxPatterns {
			continue
		}
		small = false
		path := "transform.fields[" + strconv.Itoa(i) + "].extract"
		c.fault(path, fmt.Sprintf("the pattern is too large (%s): repetitions multiply", show(field.Extract)), "repeat fewer times, or look for less")
	}
	return small
}

// instructions is about how many a compiled expression has, at most one more than one may have.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n = min(n+instructions(sub), maxPattern+1)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1), maxPattern+1)
	}
	return n
}
