package config

import "github.com/switchback-geo/switchback/pkg/envelope"

// Collections says what one bad feature does to the others of a collection that is split.
type Collections string

// The rules for collections.
const (
	CollectionsPerFeature   Collections = "per_feature"    // each feature is delivered, retried or dead-lettered by itself
	CollectionsAllOrNothing Collections = "all_or_nothing" // the collection is delivered, retried or dead-lettered as one record
)

// Apart says whether each feature of a collection is delivered, retried or dead-lettered by itself.
func (s *Source) Apart() bool {
	return s.Split == envelope.SplitFeatures && s.Collections == CollectionsPerFeature
}

// collections refuses a rule about collections that are never split.
func (c checker) collections() {
	const path = "source.collections"
	s := c.cfg.Source
	if !c.sound(path) || !c.sound("source.split") {
		return
	}
	if s.Split != envelope.SplitFeatures && s.Collections == CollectionsAllOrNothing {
		c.fault(path, "has no effect on source.split: "+string(s.Split), "set source.split: features, or remove it")
	}
}
