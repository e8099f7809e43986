package transform

import (
	"context"
	"sync"

	"github.com/switchback-geo/switchback/pkg/geometry/grid"
	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
)

// Transformer maps features by one config. [New] creates it. It is safe for concurrent use.
type Transformer struct {
	config    Config // with defaults
	fields    []fieldRule
	filter    *expression.Program[expression.Feature] // nil keeps every feature
	id        *idRule                                 // nil keeps the source's id
	constants []Member
	systems   systems
	grid      grid.Grid // of the output, if it is rounded
	decoders  sync.Pool // of *decoder
	mappings  sync.Pool // of *mapping
	texts     sync.Pool // of *[]byte, for Encode
}

// New checks a config and returns a Transformer for it. The error is a [*ConfigError] that lists every fault.
func New(config Config) (*Transformer, error) {
	sets := config.Sets
	if sets == nil {
		sets = map[string]Set{} // a reference to a missing set is a fault
	}
	t, err := compile(config, sets)
	if err != nil {
		return nil, err
	}
	if _, err := t.systems.exactness(); err != nil {
		return nil, err
	}
	return t, nil
}

// Check lists the faults of a config whose reference sets and grid files are not loaded yet. The error is a
// [*ConfigError].
func Check(config Config) error {
	sets := map[string]Set{}
	for _, reference := range config.References {
		sets[reference.Name] = unloaded{}
	}
	_, err := compile(config, sets)
	return err
}

// unloaded replaces a set while only the rules are checked.
type unloaded struct{}

func (unloaded) Has(string) bool { return false }

func compile(config Config, sets map[string]Set) (*Transformer, error) {
	config = config.WithDefaults()
	t := &Transformer{config: config}
	var faults faultList
	t.id = compileID(config.ID, &faults)
	t.filter = compileFilter(config.Filter, &faults)
	t.fields = compileFields(config.Fields, sets, &faults)
	t.constants = compileConstants(config, &faults)
	checkReferences(config.References, &faults)
	checkFlatten(config.Flatten, &faults)
	checkGeometry(config, &faults)
	checkLimits(config.Limits, &faults)
	checkWord(&faults, "unmapped", config.Unmapped, Unmappeds())
	checkPrecision(config.Geometry.RoundDecimals, config.MinDecimals, &faults)
	if len(faults) > 0 {
		return nil, &ConfigError{Faults: faults}
	}
	t.systems.open(config)
	if config.Geometry.RoundDecimals != nil {
		t.grid = grid.Of(*config.Geometry.RoundDecimals)
	}
	return t, nil
}

// Config returns the config with every default filled in.
func (t *Transformer) Config() Config { return t.config }

// Apply decodes, gates and maps one record: every step that needs no other system. A dry run uses it.
func (t *Transformer) Apply(ctx context.Context, value []byte) (*Feature, error) {
	f, err := t.Decode(value)
	if err != nil {
		return nil, err
	}
	gates, err := t.Gate(ctx, f)
	if err != nil {
		return nil, err
	}
	return t.Map(ctx, f, gates)
}
