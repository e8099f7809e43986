package template

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxRounds is how often a path is decoded. Software on the way decodes once or twice; what is still encoded after so many
// rounds was made to deceive.
const maxRounds = 8

// PathFault says why a path must not be sent, or "". The path is as it would be sent, percent-encoded (RFC 3986).
func PathFault(path string) string {
	for range maxRounds {
		path = norm.NFKC.String(path)
		if fault := plainFault(path); fault != "" {
			return fault
		}
		decoded := decode(path)
		if decoded == path {
			return ""
		}
		path = decoded
	}
	return "is percent-encoded more than " + strconv.Itoa(maxRounds) + " times"
}

// plainFault judges a path as it stands.
func plainFault(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return "holds a control character"
	}
	for _, segment := range strings.FieldsFunc(path, isSeparator) {
		if isDots(segment) {
			return "holds " + segment + " as a segment, which servers resolve instead of passing it on"
		}
	}
	return ""
}

// isSeparator says what ends a segment: for some servers the backslash as well (IIS).
func isSeparator(r rune) bool { return r == '/' || r == '\\' }

// isDots says whether a segment is . or .. for anybody: without its parameters (..;x), and without the blanks that Windows
// drops. Three dots and more are two for old versions of it.
func isDots(segment string) bool {
	name, _, _ := strings.Cut(segment, ";")
	name = strings.TrimSpace(name)
	return name != "" && strings.Trim(name, ".") == ""
}

// decode takes one layer of encoding away. What is not valid stays as it is.
func decode(path string) string {
	var b strings.Builder
	for path != "" {
		r, n := escaped(path)
		if n == 0 {
			b.WriteByte(path[0])
			path = path[1:]
			continue
		}
		b.WriteString(r)
		path = path[n:]
	}
	if utf8.ValidString(b.String()) {
		return b.String()
	}
	return overlong().Replace(b.String())
}

// escaped gives what an escape at the beginning of a text stands for, and how many bytes it has: %2F, and %u002F, which
// browsers and IIS know. n is 0 when there is none.
func escaped(text string) (decoded string, n int) {
	if strings.HasPrefix(text, "%u") || strings.HasPrefix(text, "%U") {
		if len(text) < 6 {
			return "", 0
		}
		code, err := strconv.ParseUint(text[2:6], 16, 16)
		if err != nil {
			return "", 0
		}
		return string(rune(code)), 6
	}
	if len(text) < 3 || text[0] != '%' {
		return "", 0
	}
	decoded, err := url.PathUnescape(text[:3])
	if err != nil {
		return "", 0
	}
	return decoded, 3
}

// overlong reads forms of . / and \ that UTF-8 forbids, and that lenient decoders take (RFC 3629, section 10).
func overlong() *strings.Replacer {
	return strings.NewReplacer(
		"\xc0\xae", ".", "\xe0\x80\xae", ".", "\xf0\x80\x80\xae", ".",
		"\xc0\xaf", "/", "\xe0\x80\xaf", "/", "\xf0\x80\x80\xaf", "/",
		"\xc1\x9c", `\`, "\xe0\x81\x9c", `\`, "\xf0\x80\x81\x9c", `\`,
	)
}
