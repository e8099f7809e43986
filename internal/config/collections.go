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
