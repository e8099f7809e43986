package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

const head = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
`

func build(t *testing.T, rest string) *pipeline.Pipeline {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(head+rest), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func record(value string) *retrytopics.Record {
	return &retrytopics.Record{Key: []byte("k"), Value: []byte(value), Attempt: 1}
}

const feature = `{"type":"Feature","id":"p-1","geometry":{"type":"Point","coordinates":[8.5,47.3]},"properties":{"NAME":"a","updated":%s}}`

func TestHandle_C1_mapsAFeature(t *testing.T) {
	p := build(t, "transform: { unmapped: drop, fields: [{ from: NAME, to: name, type: string, required: true }] }\n")
	result, err := p.Handle(t.Context(), record(fmt.Sprintf(feature, "1")))
	if err != nil {
		t.Fatal(err)
	}
	out := result.Outputs[0]
	if out.Topic != "parcels.out" || string(out.Key) != "k" || !strings.Contains(string(out.Value), `"properties":{"name":"a"}`) {
		t.Errorf("output %s to %s", out.Value, out.Topic)
	}
	if result.FeatureID != "p-1" || !strings.HasPrefix(result.ContentHash, "sha256:") {
		t.Errorf("identity %+v", result.Identity)
	}
}

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

func TestHandle_nullKeysAreTakenWhenTheConfigurationSaysSo(t *testing.T) {
	r := record(fmt.Sprintf(feature, "1"))
	r.Key = nil
	if _, err := build(t, "source: { null_keys: accept }\n").Handle(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestHandle_versionFromAProperty(t *testing.T) {
	p := build(t, "source: { version: properties.updated }\n")
	for _, c := range []struct {
		updated string
		want    int64
		code    classify.Code
	}{
		{`1700000000`, 1700000000, ""},
		{`"1700000000123"`, 1700000000123, ""},
		{`"2024-07-01T12:00:00.5Z"`, 1719835200500000000, ""},
		{`"yesterday"`, 0, classify.CodeCoercionFailed},
		{`"1066-10-14T09:00:00Z"`, 0, classify.CodeCoercionFailed},
		{`null`, 0, classify.CodeMissingRequired},
	} {
		t.Run(c.updated, func(t *testing.T) {
			result, err := p.Handle(t.Context(), record(fmt.Sprintf(feature, c.updated)))
			if c.code != "" {
				if err == nil || classify.Of(err).Code != c.code {
					t.Errorf("got %v, want code %s", err, c.code)
				}
				return
			}
			if err != nil || result.Version == nil || *result.Version != c.want {
				t.Errorf("version %v, %v; want %d", result.Version, err, c.want)
			}
		})
	}
}

func TestHandle_S1_9_onlyTheRemoteStepFailsForAPassingReason(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("id") == "p-1" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	p := build(t, `enrich: [{ name: place, http: { url: "`+server.URL+`/?id={id}", allow_private: true }, set: { place: /name } }]`+"\n")
	_, err := p.Handle(t.Context(), record(fmt.Sprintf(feature, "1")))
	if f := classify.Of(err); err == nil || !f.Transient() || f.Stage != classify.StageEnrich {
		t.Errorf("failure %+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Handle(ctx, record(fmt.Sprintf(feature, "1"))); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gave %v", err)
	}
}

func TestHandle_filterClosesAFeatureWithoutOutput(t *testing.T) {
	p := build(t, "transform: { filter: 'properties.NAME == \"b\"' }\n")
	result, err := p.Handle(t.Context(), record(fmt.Sprintf(feature, "1")))
	if err != nil || result.Close != policy.OutcomeFiltered || len(result.Outputs) != 0 || result.Note == "" {
		t.Errorf("result %+v, %v", result, err)
	}
}
