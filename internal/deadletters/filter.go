package deadletters

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Filter selects dead letters. Its parts are combined with AND, the values of one part with OR; an empty part selects
// everything.
type Filter struct {
	IDs       []string      `json:"ids,omitempty"`
	Codes     []string      `json:"codes,omitempty"`     // classify.Code
	Groups    []string      `json:"groups,omitempty"`    // fingerprints
	Statuses  []Status      `json:"statuses,omitempty"`  // an unreadable state matches none
	Features  []string      `json:"features,omitempty"`  // feature IDs
	Pipelines []string      `json:"pipelines,omitempty"` // that wrote the dead letter
	Runs      []string      `json:"runs,omitempty"`      // run IDs
	Headers   []HeaderMatch `json:"headers,omitempty"`   // of the DLQ record
	BBox      *BBox         `json:"bbox,omitempty"`      // meets the feature's own bbox; a dead letter without one does not match
	Text      string        `json:"text,omitempty"`      // occurs in message, key, feature ID or value, verbatim
	Since     time.Time     `json:"since,omitzero"`      // died at or after; absolute (see ResolveTime)
	Until     time.Time     `json:"until,omitzero"`      // died before; absolute
	Limit     int           `json:"limit,omitempty"`     // at most so many dead letters, the oldest first; 0 is all
}

// maxValues bounds the values of one part of a filter: a database accepts no longer lists.
const maxValues = 10_000

// Check returns the faults of a person's filter, or nil.
func (f Filter) Check() error {
	if n := max(len(f.IDs), len(f.Codes), len(f.Groups), len(f.Statuses), len(f.Features), len(f.Pipelines), len(f.Runs), len(f.Headers)); n > maxValues {
		return fmt.Errorf("one flag has %d values, at most %d can be; use another filter, or several calls", n, maxValues)
	}
	for _, s := range f.Statuses {
		if !s.Valid() {
			return fmt.Errorf("unknown status %q; use one of %v", string(s), Statuses())
		}
	}
	for _, h := range f.Headers {
		if err := h.check(); err != nil {
			return err
		}
	}
	if err := plainText("text", f.Text); err != nil {
		return err
	}
	if f.Limit < 0 {
		return fmt.Errorf("limit is %d; use a number from 0 (0 is all)", f.Limit)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return fmt.Errorf("since %s is not before until %s", f.Since.Format(time.RFC3339), f.Until.Format(time.RFC3339))
	}
	return nil
}

// plainText refuses text that cannot be searched in every dead letter alike: the SQL index has U+FFFD for each invalid
// byte, and for the character 0.
func plainText(part, text string) error {
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\uFFFD") {
		return fmt.Errorf("%s %q is no plain text: it has a character 0, U+FFFD (which stands for bytes that are no text), or is no UTF-8", part, clip(text, 80))
	}
	return nil
}
