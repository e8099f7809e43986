package refdata

import (
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// NewTransformer compiles the mapping of a pipeline with the reference sets that it names. The store is to be watched
// where a changed file must be taken up.
func NewTransformer(cfg *config.Config) (*transform.Transformer, *Store, error) {
	mapping := cfg.Mapping()
	store, err := Load(mapping.References)
	if err != nil {
		return nil, nil, err
	}
	mapping.Sets = store.Sets()
	transformer, err := transform.New(mapping)
	if err != nil {
		return nil, nil, fmt.Errorf("transform: %w", err)
	}
	return transformer, store, nil
}
