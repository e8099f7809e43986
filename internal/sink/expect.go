package sink

import (
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// expected is what the mapping produces, as far as the configuration tells.
type expected struct {
	properties map[string]property // those that the configuration names
	others     bool                // there may be further ones
	heights    heights
	kinds      []transform.GeometryType // that occur; empty for all
	noGeometry bool                     // a feature may have none
}

// property is one property of the mapped feature.
type property struct {
	typ    transform.Type // "" if it is unknown
	always bool           // every feature has a value
}

// column returns the type of a new column for it.
func (p property) column() string { return columnType(p.typ) }

// heights is whether mapped geometries have a third ordinate.
type heights int

const (
	someHeights heights = iota
	noHeights
	allHeights
)

func expect(mapping transform.Config, steps []config.EnrichStep) expected {
	mapping = mapping.WithDefaults()
	e := expected{properties: map[string]property{}, others: mapping.Unmapped == transform.UnmappedKeep, kinds: kindsOf(mapping.Geometry)}
	e.noGeometry = mapping.Geometry.NullGeometry != transform.Reject
	for _, f := range mapping.Fields {
		e.properties[f.To] = property{typ: f.Type, always: f.Required}
	}
	for name, value := range mapping.Constants {
		e.properties[name] = property{always: value != nil}
	}
	for _, step := range steps {
		for name := range step.Set {
			if _, known := e.properties[name]; !known {
				e.properties[name] = property{}
			}
		}
		if step.SetProvider != "" {
			e.properties[step.SetProvider] = property{typ: transform.TypeString, always: true}
		}
	}
	switch mapping.Geometry.Dimension {
	case transform.DimensionDropZ, transform.DimensionRejectZ:
		e.heights = noHeights
	case transform.DimensionRequireZ:
		e.heights = allHeights
	default: // each record decides
	}
	return e
}

// kindsOf returns the geometry types that pass.
func kindsOf(rules transform.GeometryRules) []transform.GeometryType {
	if rules.OtherTypes == transform.ValidityFlag {
		return nil
	}
	return rules.Types
}

// names returns the properties, sorted.
func (e expected) names() []string { return slices.Sorted(maps.Keys(e.properties)) }
