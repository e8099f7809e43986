package config

import (
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/pkg/transform"
)

func TestMapping_names_the_line_of_each_rule(t *testing.T) {
	cfg := mustParse(t, `pipeline:
  id: parcels
  retry_policy: {max_attempts: 1, base_delay_seconds: 1, retryable_status_codes: [503]}
  tolerance: {max_null_rate: 0, halt_on_geometry_invalid: false}
transform:
  fields:
    - {to: a}
    - to: n
      type: integer
`)
	transformer, err := transform.New(cfg.Mapping())
	if err != nil {
		t.Fatal(err)
	}
	_, err = transformer.Apply(t.Context(), []byte(`{"type":"Feature","geometry":null,"properties":{"n":"x"}}`))
	var failed *transform.Error
	if !errors.As(err, &failed) || failed.RuleLine != 8 {
		t.Errorf("got %+v", failed)
	}
}
