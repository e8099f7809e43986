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

// beginning gives the start of an answer's body as it may be shown.
func beginning(text []byte, target *url.URL) string {
	return withoutQuery(strings.ToValidUTF8(string(text[:min(len(text), classify.MaxBody)]), "\uFFFD"), target)
}
