package enrich

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// lost wraps the error of a request without a complete answer as a network error. It removes the library's own wrapper,
// because that shows the query.
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

// beginning returns the start of an answer's body in a form that may be shown.
func beginning(text []byte, target *url.URL) string {
	return withoutQuery(strings.ToValidUTF8(string(text[:min(len(text), classify.MaxBody)]), "\uFFFD"), target)
}
