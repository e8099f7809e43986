package template

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxRounds is the maximum number of times that a path is decoded. Software on the way decodes once or twice. A path
// that is still encoded after maxRounds is an attempt to deceive.
const maxRounds = 8

// PathFault returns the reason to refuse a path, or "". The path is percent-encoded (RFC 3986), as it would be sent.
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

// plainFault checks a path without decoding it.
func plainFault(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return "contains a control character"
	}
	for _, segment := range strings.FieldsFunc(path, isSeparator) {
		if isDots(segment) {
			return "holds " + segment + " as a segment, which servers resolve instead of passing it on"
		}
	}
	return ""
}

// isSeparator reports whether r ends a segment. Some servers also treat the backslash as a separator (IIS).
func isSeparator(r rune) bool { return r == '/' || r == '\\' }

// isDots reports whether any server reads a segment as . or .. after it removes the parameters (..;x). Windows also
// drops blanks. Old versions of Windows read three or more dots as two.
func isDots(segment string) bool {
	name, _, _ := strings.Cut(segment, ";")
	name = strings.TrimSpace(name)
	return name != "" && strings.Trim(name, ".") == ""
}

// decode removes one layer of percent-encoding. It leaves invalid escapes unchanged.
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

// escaped returns the decoded text of an escape at the start of text, and the number of bytes of the escape. It
// supports %2F, and %u002F, which browsers and IIS accept. n is 0 if text does not start with an escape.
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

// overlong returns a replacer of the overlong encodings of . / and \. UTF-8 forbids them, but lenient decoders accept
// them (RFC 3629, section 10).
func overlong() *strings.Replacer {
	return strings.NewReplacer(
		"\xc0\xae", ".", "\xe0\x80\xae", ".", "\xf0\x80\x80\xae", ".",
		"\xc0\xaf", "/", "\xe0\x80\xaf", "/", "\xf0\x80\x80\xaf", "/",
		"\xc1\x9c", `\`, "\xe0\x81\x9c", `\`, "\xf0\x80\x81\x9c", `\`,
	)
}
