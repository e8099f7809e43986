package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// sources collects the source properties of an input's GeoJSON features, to warn of a rule whose property never occurs:
// a misspelt name of an optional field would pass silently. Its methods are safe for concurrent use.
type sources struct {
	mapping transform.Config
	rules   []sourceRule

	mu    sync.Mutex
	read  int
	names map[string]bool // of properties at the top, at most mostNames
}

// sourceRule is a rule of the mapping that reads a property.
type sourceRule struct {
	key, from string
	line      int
	found     bool
}

// mostNames bounds the names that are kept for suggestions.
const mostNames = 1000

func sourcesOf(cfg *config.Config) *sources {
	s := &sources{mapping: cfg.Mapping(), names: map[string]bool{}}
	for i, f := range cfg.Transform.Fields {
		if f.Expr == "" {
			place := fmt.Sprintf("fields[%d]", i)
			s.rules = append(s.rules, sourceRule{key: "transform." + place + ".from", from: cmp.Or(f.From, f.To), line: s.mapping.Lines[place]})
		}
	}
	return s
}

// line collects the features of one line, before anything is refused. It ignores texts that are not features.
func (s *sources) line(text []byte) {
	v, err := transform.ParseValue(text)
	if err != nil {
		return // the pipeline says what is wrong
	}
	features := []transform.Value{v}
	if all, ok := v.Member("features"); ok {
		features = all.Items()
	}
	for _, feature := range features {
		if properties, ok := feature.Member("properties"); ok {
			s.note(&transform.Feature{Properties: properties.Members()})
		}
	}
}

// note collects one feature.
func (s *sources) note(f *transform.Feature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read++
	for i := range s.rules {
		if rule := &s.rules[i]; !rule.found {
			rule.found = s.mapping.Finds(f, rule.from)
		}
	}
	for _, member := range f.Properties {
		if len(s.names) < mostNames {
			s.names[member.Name] = true
		}
	}
}

// warn writes a line for each rule whose property no feature had.
func (s *sources) warn(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == 0 {
		return
	}
	for _, rule := range s.rules {
		if !rule.found {
			fmt.Fprintf(out, "consumer: warning: %s (line %d): none of %s has the property %q%s\n", rule.key, rule.line, count(s.read, "feature"), rule.from, s.meant(rule.from))
		}
	}
}

// meant returns the property that was probably meant.
func (s *sources) meant(from string) string {
	if rest, prefixed := strings.CutPrefix(from, "properties."); prefixed && s.names[rest] {
		return fmt.Sprintf("; from begins at the properties: write %q", rest)
	}
	if near := config.Nearest(from, slices.Sorted(maps.Keys(s.names))); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
