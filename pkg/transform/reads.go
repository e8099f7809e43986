package transform

import (
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
)

// Reads reports whether the result of the mapping can depend on a property of the source. property is its literal name,
// not a path into it.
func (t *Transformer) Reads(property string) bool {
	return t.config.Unmapped == UnmappedKeep || readsProperty(t.filter, property) || t.id.reads(property) ||
		slices.ContainsFunc(t.fields, func(rule fieldRule) bool {
			return readsProperty(rule.program, property) || rule.program == nil && t.config.leadsInto(rule.From, property)
		})
}

// leadsInto reports whether the path of a rule begins with a property.
func (c *Config) leadsInto(path, property string) bool {
	rest, found := strings.CutPrefix(path, property)
	return found && (rest == "" || rest[0] == '.' || c.Flatten != nil && strings.HasPrefix(rest, c.Flatten.Separator))
}

// reads reports whether the rule reads a property. A nil rule reads none.
func (rule *idRule) reads(property string) bool {
	return rule != nil && (rule.Hash || readsProperty(rule.program, property) || (&Config{}).leadsInto(rule.path, property))
}

// readsProperty reports whether the expression reads a property. A nil expression reads none.
func readsProperty[N any](e *expression.Program[N], name string) bool {
	return e != nil && e.Reads.Property(name)
}
