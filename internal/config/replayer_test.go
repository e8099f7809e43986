package config

import (
	"slices"
	"testing"
)

// All headers go back unless the file says otherwise; an empty list is said, too.
func TestParse_replayerHeaders(t *testing.T) {
	const rest = "pipeline: { id: p, retry_policy: { max_attempts: 5, base_delay_seconds: 2, retryable_status_codes: [503] }, tolerance: { max_null_rate: 0, halt_on_geometry_invalid: false } }\n"
	for text, want := range map[string]ReplayerHeaders{
		"":                                      {Keep: []string{"*"}},
		"replayer: { headers: { keep: [] } }\n": {Keep: []string{}},
		"replayer: { headers: { keep: [ce_*], strip: [\"*-debug\"] } }\n": {Keep: []string{"ce_*"}, Strip: []string{"*-debug"}},
	} {
		cfg, err := Parse("p.yaml", []byte(rest+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Replayer.Headers; !slices.Equal(got.Keep, want.Keep) || !slices.Equal(got.Strip, want.Strip) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
		again, err := cfg.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse("p.yaml", again, nil); err != nil || !slices.Equal(back.Replayer.Headers.Keep, want.Keep) {
			t.Errorf("%q: written and read again: %v, %v", text, back, err)
		}
	}
}
