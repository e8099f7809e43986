package jsontexts

// pending is a text whose end was not read yet.
type pending struct {
	line     int
	bytes    []byte // nil when it is too long
	size     int
	stack    []byte // what is open: braces and brackets
	inString bool
	last     byte // that counts
	skipping bool // the rest of a broken text
}

func (t *pending) open() bool { return len(t.stack) > 0 }

// takesValue reports whether an object may stand where the text ends.
func (t *pending) takesValue() bool {
	if !t.open() || t.inString {
		return false
	}
	inArray := t.stack[len(t.stack)-1] == '['
	return t.last == ':' || inArray && (t.last == '[' || t.last == ',')
}

// scan follows braces, brackets and strings, and returns the index behind the end of the text, or -1. It does not check the text.
func (t *pending) scan(line []byte) int {
	escaped := false
	for i, c := range line {
		if t.inString {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				t.inString = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			t.inString = true
		case '{', '[':
			t.stack = append(t.stack, c)
		case '}', ']':
			if t.stack = t.stack[:len(t.stack)-1]; len(t.stack) == 0 {
				return i + 1
			}
		}
		t.last = c
	}
	return -1
}
