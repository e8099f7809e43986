package replay

import (
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// headerRules say which headers of a letter go back with it as they are (replayer.headers of the pipeline file). Our own
// control headers never do: those that are needed are rewritten (see [restored]).
type headerRules struct {
	names       map[string]bool  // kept, by their full names
	keep, strip []*regexp.Regexp // patterns; those of keep without the names
}

func newHeaderRules(c config.ReplayerHeaders) headerRules {
	h := headerRules{names: map[string]bool{}}
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

// pattern matches whole names. A star stands for any text, also for none.
func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$")
}

// back gives the headers of a letter of some dialect that go back with it, in their order and with their duplicates. The
// result is a slice of its own.
func (h headerRules) back(d dialects.Dialect, headers []kgo.RecordHeader) []kgo.RecordHeader {
	out := make([]kgo.RecordHeader, 0, len(headers))
	for _, header := range headers {
		if h.keeps(d, header.Key) {
			out = append(out, header)
		}
	}
	return slices.Clip(out)
}

// keeps decides about one header. What strip matches stays behind, whatever keep says. What the framework wrote that made
// the letter stays behind as well: it counts on from it, or doubles it. Some use names that a producer may have, too,
// such as source_…; one that keep names in full is the producer's.
func (h headerRules) keeps(d dialects.Dialect, name string) bool {
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
