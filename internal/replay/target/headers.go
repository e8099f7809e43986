package target

import (
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// HeaderRules select the headers that go back with a dead letter unchanged (replayer.headers of the pipeline file).
// They never select Switchback's own control headers; [Restored] writes the needed ones anew.
type HeaderRules struct {
	names       map[string]bool  // full names to keep
	keep, strip []*regexp.Regexp // patterns; keep has those with a star only
}

// NewHeaderRules compiles the rules of a pipeline file.
func NewHeaderRules(c config.ReplayerHeaders) HeaderRules {
	h := HeaderRules{names: map[string]bool{}}
	for _, text := range c.Keep {
		if strings.Contains(text, "*") {
			h.keep = append(h.keep, pattern(text))
		} else {
			h.names[text] = true
		}
	}
	for _, text := range c.Strip {
		h.strip = append(h.strip, pattern(text))
	}
	return h
}

// pattern compiles a pattern that matches whole names. A star matches any text, also an empty one.
func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$")
}

// Apply returns the headers that go back with a dead letter of a dialect, in their order and with their duplicates.
// The caller owns the result.
func (h HeaderRules) Apply(d dialects.Dialect, headers []kgo.RecordHeader) []kgo.RecordHeader {
	out := make([]kgo.RecordHeader, 0, len(headers))
	for _, header := range headers {
		if h.keeps(d, header.Key) {
			out = append(out, header)
		}
	}
	return slices.Clip(out)
}

// keeps reports whether one header goes back. A header that matches strip never does. Headers of the framework that
// wrote the dead letter do not go back either: the framework would continue its count or write the header twice. Some
// of them have names that a producer may also use, such as source_…; a header that keep names in full is taken for
// the producer's.
func (h HeaderRules) keeps(d dialects.Dialect, name string) bool {
	matches := func(p *regexp.Regexp) bool { return p.MatchString(name) }
	switch {
	case header.IsControl(name), slices.ContainsFunc(h.strip, matches):
		return false
	case h.names[name]:
		return true
	case dialects.IsOwn(d, name):
		return false
	default:
		return slices.ContainsFunc(h.keep, matches)
	}
}
