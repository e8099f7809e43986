package refdata

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// NewTransformer compiles the mapping of a pipeline with the reference sets and grid files that it names. The store is to be loaded before
// the first record, and watched where a change must be taken up.
func NewTransformer(cfg *config.Config) (*transform.Transformer, *Store, error) {
	mapping := cfg.Mapping()
	var connection []kgo.Opt
	if slices.ContainsFunc(mapping.References, func(r transform.Reference) bool { return r.Topic != "" }) {
		var err error
		if connection, err = kafka.ClientOptions(cfg.Kafka); err != nil {
			return nil, nil, err
		}
	}
	store, err := Open(mapping.References, connection)
	if err != nil {
		return nil, nil, err
	}
	mapping.Sets = store.Sets()
	if mapping.Grids, err = OpenGrids(cfg); err != nil {
		return nil, nil, err
	}
	transformer, err := transform.New(mapping)
	if err != nil {
		return nil, nil, fmt.Errorf("transform: %w", err)
	}
	return transformer, store, nil
}
