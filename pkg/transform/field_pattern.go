package transform

import (
	"regexp/syntax"
)

// The limits of regular expressions, in instructions. Repetitions such as (a{30}){30} turn a few letters into many, and
// a compiled instruction takes about 40 bytes.
const (
	maxPattern  = 100_000   // of one
	maxPatterns = 1_000_000 // of all in a mapping
)

// patternBudget is the number of instructions used by a mapping's patterns so far.
type patternBudget int

// takes reports whether a pattern is small enough to be compiled. It returns true for a pattern that does not parse,
// because compiling it reports the fault.
func (b *patternBudget) takes(pattern string) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true
	}
	n := instructions(parsed)
	*b = patternBudget(min(int(*b)+n, 2*maxPatterns))
	return n <= maxPattern && *b <= maxPatterns
}

// instructions estimates the number of instructions of a compiled expression, at most one more than allowed.
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
