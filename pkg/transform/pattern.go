package transform

import (
	"regexp/syntax"
)

// Limits of regular expressions, in instructions: repetitions such as (a{30}){30} make many of a few letters, and a compiled
// instruction takes some 40 bytes.
const (
	maxPattern  = 100_000   // of one
	maxPatterns = 1_000_000 // of all in a mapping
)

// patternBudget is how many instructions the patterns of a mapping have so far.
type patternBudget int

// takes reports whether a pattern is small enough to be compiled. One that does not parse is: compiling it says what is wrong.
func (b *patternBudget) takes(pattern string) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true
	}
	n := instructions(parsed)
	*b = patternBudget(min(int(*b)+n, 2*maxPatterns))
	return n <= maxPattern && *b <= maxPatterns
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
