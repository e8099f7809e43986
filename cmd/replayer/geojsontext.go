package main

import "strings"

// mostIndent is how many levels are set in; deeper ones stand below each other.
const mostIndent = 40

// spread writes compact JSON for people: each member of an object on its own line, each list on
// one line, so that the ring of a polygon does not fill the screen with single numbers.
func spread(compact string) string {
	var b strings.Builder
	depth, lists, quoted := 0, 0, false
	newLine := func() { b.WriteString("\n" + strings.Repeat("  ", min(depth, mostIndent))) }
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch {
		case quoted && c == '\\':
			b.WriteByte(c)
			i++
			c = compact[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			lists++
		case c == ']':
			lists--
		case lists > 0:
		case c == '{' && compact[i+1] != '}':
			b.WriteByte(c)
			depth++
			newLine()
			continue
		case c == '}' && compact[i-1] != '{':
			depth--
			newLine()
		case c == ',':
			b.WriteByte(c)
			newLine()
			continue
		case c == ':':
			b.WriteString(": ")
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
