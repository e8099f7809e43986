package config

import "github.com/switchback-geo/switchback/pkg/envelope"

// Collections says what one bad feature does to the others of a collection that is split. It is a closed list (see
// [CollectionRules]).
type Collections string

// The rules for collections.
const (
	CollectionsPerFeature   Collections = "per_feature"    // each feature is delivered, retried or dead-lettered by itself
	CollectionsAllOrNothing Collections = "all_or_nothing" // the collection is delivered, retried or dead-lettered as one record
)

// CollectionRules returns every [Collections].
func CollectionRules() []Collections {
	return []Collections{CollectionsPerFeature, CollectionsAllOrNothing}
}

func (Collections) vocabulary() vocabulary { return vocabulary{now: texts(CollectionRules())} }

// Apart says whether each feature of a collection is delivered, retried or dead-lettered by itself.
func (s *Source) Apart() bool {
	return s.Split == envelope.SplitFeatures && s.Collections == CollectionsPerFeature
}

// holdsKeys says that a dead letter holds its key.
func (o Ordering) holdsKeys() bool {
	return o.Mode == OrderingStrict && o.OnDeadLetter == OnDeadLetterHoldKey
}

// fillCollections leaves collections whole where a dead letter holds its key: several dead letters of one record do not.
func fillCollections(c *Config) {
	if c.Source.Apart() && c.Ordering.holdsKeys() && !c.origins.byHand("source.collections") {
		c.Source.Collections = CollectionsAllOrNothing
	}
}

// collections refuses rules that cannot be kept, or are about nothing.
func (c checker) collections() {
	const path = "source.collections"
	s := c.cfg.Source
	if !c.sound(path) || !c.sound("source.split") {
		return
	}
	switch byHand := c.cfg.origins.byHand(path); {
	case s.Apart() && c.cfg.Ordering.holdsKeys():
		c.fault(path, "per_feature cannot go with ordering.on_dead_letter: hold_key, since the dead letters of several features would hold one key",
			"set ordering.on_dead_letter: continue, or all_or_nothing")
	case s.Split != envelope.SplitFeatures && byHand && s.Collections == CollectionsAllOrNothing:
		c.fault(path, "has no effect on source.split: "+string(s.Split), "set source.split: features, or remove it")
	}
}
