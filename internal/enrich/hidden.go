package enrich

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// leastHidden is the shortest query value that is masked in a body; a shorter one may occur by chance.
const leastHidden = 4

// withoutQuery masks the query's values in a server's answer. Many servers repeat the request, and a key in the URL must
// not appear in a header of a dead letter.
func withoutQuery(body string, target *url.URL) string {
	hide := queryValues(target)
	if len(hide) > 0 {
		body = strings.TrimRight(body, "\uFFFD") // of a cut character
	}
	for _, value := range hide {
		body = without(body, []rune(value))
	}
	return body
}

// queryValues returns the query's values, encoded and decoded, the longest first, because one may be a prefix of
// another.
func queryValues(target *url.URL) []string {
	var out []string
	for pair := range strings.SplitSeq(target.RawQuery, "&") {
		_, written, _ := strings.Cut(pair, "=")
		out = append(out, written)
		if meant, err := url.QueryUnescape(written); err == nil {
			out = append(out, meant)
		}
	}
	out = slices.DeleteFunc(out, func(v string) bool { return len(v) < leastHidden })
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(out)
}

// without masks a value wherever a text contains it, in any encoding.
func without(text string, value []rune) string {
	var b strings.Builder
	for text != "" {
		if n := repeated(text, value); n > 0 {
			b.WriteString("…")
			text = text[n:]
			continue
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// repeated returns how many bytes at the start of a text repeat a value, or 0. A text that ends before the value was
// cut.
func repeated(text string, value []rune) int {
	at := 0
	for i, r := range value {
		rest := text[at:]
		n := form(rest, r)
		switch {
		case n > 0:
			at += n
		case i >= leastHidden && (rest == "" || len(rest) < maxForm && strings.ContainsRune(`%\&`, rune(rest[0]))):
			return len(text)
		default:
			return 0
		}
	}
	return at
}

// maxForm is more than the longest encoding of a character, in bytes.
const maxForm = 12

// form returns how many bytes at the start of a text encode a character: as itself, or escaped for a URL (RFC 3986), for
// JSON (RFC 8259) or for HTML; 0 if they do not.
func form(text string, r rune) int {
	if text == "" {
		return 0
	}
	switch text[0] {
	case '%':
		var percent strings.Builder
		for _, b := range []byte(string(r)) {
			fmt.Fprintf(&percent, "%%%02x", b)
		}
		if n := begins(text, percent.String()); n > 0 {
			return n
		}
	case '\\':
		for _, escaped := range []string{fmt.Sprintf(`\u%04x`, r), `\` + string(r)} {
			if n := begins(text, escaped); n > 0 {
				return n
			}
		}
	case '&':
		named := map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&apos;"}
		for _, escaped := range []string{fmt.Sprintf("&#%d;", r), fmt.Sprintf("&#x%x;", r), named[r]} {
			if n := begins(text, escaped); n > 0 {
				return n
			}
		}
	case '+':
		if r == ' ' {
			return 1
		}
	}
	if strings.HasPrefix(text, string(r)) {
		return len(string(r))
	}
	return 0
}

// begins returns the length of an escape at the start of a text, with digits in either case; 0 if there is none.
func begins(text, escape string) int {
	if escape == "" || len(text) < len(escape) || !strings.EqualFold(text[:len(escape)], escape) {
		return 0
	}
	return len(escape)
}
