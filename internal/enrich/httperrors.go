package enrich

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// lost wraps the error of a request that got no whole answer, so that it is known as one of the network whatever it
// holds. The library's own wrapper is taken off, because it shows the query.
func (l *httpLookup) lost(target *url.URL, err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, io.EOF) { // closed before the first byte of the answer
		err = io.ErrUnexpectedEOF
	}
	return &net.OpError{Op: l.method + " " + classify.PublicURL(target), Err: err}
}

func (l *httpLookup) badResponse(target *url.URL, what string) error {
	return &fault{classify.CodeBadResponse, fmt.Sprintf("%s %s: the answer %s", l.method, classify.PublicURL(target), strings.TrimSpace(what))}
}

// leastHidden is how long a value of the query must be to be hidden in a body; shorter ones stand there by chance.
const leastHidden = 4

// withoutQuery hides the values of the query in what a server answered, since many repeat the request: a key in the URL
// must not come out in a header of a dead letter that way.
func withoutQuery(body string, target *url.URL) string {
	var hide []string
	for _, values := range target.Query() {
		for _, value := range values {
			if len(value) >= leastHidden {
				hide = append(hide, value, url.QueryEscape(value), escape(value, true))
			}
		}
	}
	slices.SortFunc(hide, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest first: one may begin another
	for _, value := range hide {
		body = withoutEnd(strings.ReplaceAll(body, value, "…"), value)
	}
	return body
}

// withoutEnd hides the beginning of a value at the end of a body, which is cut off somewhere.
func withoutEnd(body, value string) string {
	body = strings.TrimRight(body, "\uFFFD") // of a character that was cut
	for n := len(value) - 1; n >= leastHidden; n-- {
		if before, ok := strings.CutSuffix(body, value[:n]); ok {
			return before + "…"
		}
	}
	return body
}

// beginning gives the start of an answer's body as it may be shown.
func beginning(text []byte, target *url.URL) string {
	return withoutQuery(strings.ToValidUTF8(string(text[:min(len(text), classify.MaxBody)]), "\uFFFD"), target)
}
