package verify

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/proof"
)

// Prover returns [Options].Proven: with the keys of the environment or, if there are none, those of the control topic.
// The error names the variable.
func Prover(lookup func(string) string, held []proof.Key) (func(*kgo.Record) error, error) {
	keys, err := proof.FromEnvironment(lookup)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		keys = held
	}
	ring := new(proof.Keyring)
	ring.Set(keys)
	return ring.Verify, nil
}
