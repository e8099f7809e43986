package deadletters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// HeaderMatch matches a header of a DLQ record: a producer's, or one of [SearchableHeaders].
type HeaderMatch struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"` // exactly this; nil matches any
}

// ParseHeaderMatch parses "name" or "name=value".
func ParseHeaderMatch(text string) (HeaderMatch, error) {
	name, value, has := strings.Cut(text, "=")
	m := HeaderMatch{Name: name}
	if has {
		m.Value = &value
	}
	return m, m.check()
}

// String returns the form that [ParseHeaderMatch] parses.
func (m HeaderMatch) String() string {
	if m.Value == nil {
		return m.Name
	}
	return m.Name + "=" + *m.Value
}

// SearchableHeaders lists the control headers that a filter may name: those about the feature for which a filter has no
// other part.
func SearchableHeaders() []string {
	return []string{header.KeyLineage, header.KeyCare, header.KeySovereignty}
}

// Searchable reports whether a filter may name a header.
func Searchable(name string) bool {
	return !header.IsControl(name) || slices.Contains(SearchableHeaders(), name)
}

// MaxHeaderValue is the longest header value that a filter can match, in bytes. Longer ones are found by name only: the
// SQL index keeps no more of them.
const MaxHeaderValue = 1024

func (m HeaderMatch) check() error {
	if m.Name == "" {
		return fmt.Errorf("header %q has no name; use name or name=value", m.String())
	}
	if !Searchable(m.Name) {
		return fmt.Errorf("header %s cannot be searched; use code, group, feature, pipeline, run or the other flags instead (of the control headers, %s can)",
			clip(m.Name, 80), strings.Join(SearchableHeaders(), ", "))
	}
	if m.Value != nil && len(*m.Value) > MaxHeaderValue {
		return fmt.Errorf("header %s: the value has %d bytes, and a filter can ask for at most %d; ask for the name alone", clip(m.Name, 80), len(*m.Value), MaxHeaderValue)
	}
	return plainText("header", m.String())
}
