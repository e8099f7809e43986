package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxExchange is the longest text of a Request or a Response, in bytes.
const MaxExchange = 512

// Limits of single fields, in bytes. If their sum exceeds MaxExchange, the longest field is cut.
const (
	maxNameBytes  = 64  // step, provider, content type, Retry-After
	maxWordBytes  = 16  // method, SQLSTATE
	maxIDBytes    = 128 // request id
	maxURLBytes   = 256
	maxTopicBytes = 249 // Kafka's own limit
)

// Text returns a request as one JSON object of at most MaxExchange bytes, on one line, without control characters, for a
// record header and for SQL. It is empty if nothing is known.
func (r *Request) Text() string {
	c := Request{
		Step: shown(r.Step, maxNameBytes), Provider: shown(r.Provider, maxNameBytes), Method: shown(r.Method, maxWordBytes),
		URL: shown(r.URL, maxURLBytes), Topic: shown(r.Topic, maxTopicBytes), TookMS: max(r.TookMS, 0),
	}
	if c == (Request{}) {
		return ""
	}
	return fit(&c, &c.Step, &c.Provider, &c.Method, &c.URL, &c.Topic)
}

// Text returns an answer in the same form as Request.Text.
func (r *Response) Text() string {
	c := Response{
		Status: status(r.Status), RetryAfter: shown(r.RetryAfter, maxNameBytes), RequestID: shown(r.RequestID, maxIDBytes),
		ContentType: shown(r.ContentType, maxNameBytes), Body: shown(r.Body, MaxBody),
		SQLState: shown(r.SQLState, maxWordBytes), KafkaError: r.KafkaError,
	}
	if c == (Response{}) {
		return ""
	}
	return fit(&c, &c.RetryAfter, &c.RequestID, &c.ContentType, &c.Body, &c.SQLState)
}

// ParseRequest parses the text of a request. It ignores unknown members, which a newer version may have written. An
// empty object returns nil.
func ParseRequest(text string) (*Request, error) {
	var r Request
	if err := parseObject(text, &r); err != nil {
		return nil, err
	}
	if r.TookMS < 0 {
		return nil, fmt.Errorf("took_ms is %d, want a number from 0", r.TookMS)
	}
	if r == (Request{}) {
		return nil, nil //nolint:nilnil // nothing known is no fault
	}
	return &r, nil
}

// ParseResponse parses the text of an answer, like ParseRequest.
func ParseResponse(text string) (*Response, error) {
	var r Response
	if err := parseObject(text, &r); err != nil {
		return nil, err
	}
	if r.Status != status(r.Status) {
		return nil, fmt.Errorf("status is %d, want an HTTP status", r.Status)
	}
	if r == (Response{}) {
		return nil, nil //nolint:nilnil // nothing known is no fault
	}
	return &r, nil
}

// status returns a number of three digits, and 0 for any other.
func status(n int) int {
	if n < 0 || n > 999 {
		return 0
	}
	return n
}

func parseObject(text string, into any) error {
	if !utf8.ValidString(text) {
		return errors.New("not valid UTF-8")
	}
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") { // null would be parsed as an empty object
		return errors.New("not a JSON object")
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("not the JSON object that it must be: %w", err)
	}
	return nil
}

// fit encodes v, and shortens its longest fields until the text fits.
func fit(v any, fields ...*string) string {
	for {
		text := encode(v)
		over := len(text) - MaxExchange
		longest := slices.MaxFunc(fields, func(a, b *string) int { return len(*a) - len(*b) })
		if over <= 0 || *longest == "" {
			return text
		}
		*longest = shown(*longest, max(len(*longest)-over, 0))
	}
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // <html> is easier to read than \u003chtml\u003e
	_ = e.Encode(v)        // texts and numbers can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// shown makes text fit for a line of at most n bytes: valid UTF-8, blanks and control characters as single spaces, none
// at the ends. It is idempotent.
func shown(text string, n int) string {
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), blank), " ")
	return strings.TrimRight(cut(text, n), " ")
}
