package pipeline_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const head = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
`

func build(t *testing.T, rest string) *pipeline.Pipeline {
	t.Helper()
	cfg := must.Get(config.Parse("test.yaml", []byte(head+rest), nil))(t)
	p := must.Get(pipeline.New(cfg, nil))(t)
	t.Cleanup(p.Close)
	return p
}

func record(value string) *retrytopics.Record {
	return &retrytopics.Record{Key: []byte("k"), Value: []byte(value), Attempt: 1}
}

const feature = `{"type":"Feature","id":"p-1","geometry":{"type":"Point","coordinates":[8.5,47.3]},"properties":{"NAME":"a","updated":%s}}`

// Bad input of every kind becomes a failure of its own code; nothing of it is retried.
func TestHandle_S0_5_badInput(t *testing.T) {
	p := build(t, "source: { max_record_bytes: 4096 }\n")
	point := `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}`
	for _, c := range []struct {
		name string
		r    *retrytopics.Record
		code classify.Code
	}{
		{"not JSON", record("parcel 17"), classify.CodeNotJSON},
		{"truncated JSON", record(point), classify.CodeTruncatedJSON},
		{"wrong type", record(`{"type":"Feature","geometry":{"type":"Point","coordinates":"here"},"properties":{}}`), classify.CodeWrongType},
		{"too large", record(`"` + strings.Repeat("x", 5000) + `"`), classify.CodeRecordTooLarge},
		{"empty value", record(""), classify.CodeEmptyValue},
		{"null key", &retrytopics.Record{Value: []byte(point + "}")}, classify.CodeNullKey},
		{"null key of a tombstone", &retrytopics.Record{}, classify.CodeNullKey},
		{"unknown CRS", record(point + `,"crs":{"type":"name","properties":{"name":"EPSG:99999"}}}`), classify.CodeUnknownCRS},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := p.Handle(t.Context(), c.r)
			if err == nil {
				t.Fatal("no error")
			}
			f := classify.Of(err)
			if f.Code != c.code || f.Transient() || len(result.Outputs) != 0 {
				t.Errorf("failure %+v, want code %s", f, c.code)
			}
			if result.ContentHash == "" {
				t.Error("no content hash: the dead letter could not be deduped")
			}
		})
	}
}
