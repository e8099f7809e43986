package simulate

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// A scenario is as strict as a pipeline file: every fault has its line, its column and what to do.
func TestParseScenario_S0_12_namesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := ParseScenario("s.yaml", []byte(`rate: 0
duration: 1h
speed: 3
providers:
  - name: place
    errors: { share: 1.5, answer: http_200 }
    outages: [{ from: 2h }]
expect: { max_dlq_share: yes }
`), system(t, place))
	faults := faultLines(t, err)
	for _, want := range []string{
		"s.yaml:1:7: rate: 0 is out of range", "s.yaml:3:1: speed: unknown key; did you mean seed?",
		"s.yaml:6:22: providers[0].errors.share: 1.5 is out of range", "providers[0].outages[0].for: is mandatory", "max_dlq_share",
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("no word of %q in\n%s", want, faults)
		}
	}
	_, err = ParseScenario("s.yaml", []byte(`duration: 1h
providers:
  - { name: place, errors: { share: 0.5, answer: http_200 } }
  - { name: place }
  - { name: plaice, outages: [{ from: 2h, for: 1s, answer: dns }] }
`), system(t, place))
	faults = faultLines(t, err)
	for _, want := range []string{
		`s.yaml:3:50: providers[0].errors.answer: unknown answer "http_200"`, "s.yaml:4:13: providers[1].name: \"place\" is listed twice",
		`s.yaml:5:13: providers[2].name: "plaice" is no remote step of the pipeline; write one of place, handler`,
		"providers[2].outages[0].from: 2h is not before the end", `unknown answer "dns"`,
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("no word of %q in\n%s", want, faults)
		}
	}
}

// A step with several providers has each of them under a name of its own.
func TestParseScenario_S2_6_namesProvidersOfAStep(t *testing.T) {
	t.Parallel()
	_, err := ParseScenario("s.yaml", []byte(`providers:
  - { name: place }
  - { name: place/main, cache_hits: 0.5 }
  - { name: place/other }
`), system(t, mirrored))
	faults := faultLines(t, err)
	for _, want := range []string{
		"s.yaml:2:13: providers[0].name: step place has several providers; write one of them, such as place/main",
		"s.yaml:3:37: providers[1].cache_hits: place/main has no cache in the pipeline",
		`"place/other" is no remote step of the pipeline; write one of place/main, place/mirror, handler`,
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("no word of %q in\n%s", want, faults)
		}
	}
}

func faultLines(t *testing.T, err error) string {
	t.Helper()
	faults, ok := err.(*config.Faults)
	if !ok {
		t.Fatalf("%v is no list of faults", err)
	}
	return faults.Error()
}

func FuzzParseScenario(f *testing.F) {
	for _, c := range scenarios() {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("expect: { max_drain_time: 1m }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseScenario("s.yaml", text, System{Steps: []Step{{Name: "place", Services: []Service{{Name: "place", Cached: true}}}}})
		if err == nil && (s.Rate <= 0 || s.Duration <= 0 || s.Instances < 1) {
			t.Errorf("%q is taken as %+v", text, s)
		}
	})
}

func TestDefault_isALegalScenario(t *testing.T) {
	t.Parallel()
	for name, sys := range map[string]System{"a step": system(t, place), "a fallback": system(t, mirrored), "none": system(t, "")} {
		for _, d := range []time.Duration{time.Second, time.Hour, 24 * time.Hour} {
			s := Default(sys, 1000, d)
			s.check(sys, func(path, message, _ string) { t.Errorf("%s, %v: %s: %s", name, d, path, message) })
			if len(s.Providers) != max(1, len(sys.services())) || s.Providers[0].Outages[0].For <= 0 {
				t.Errorf("%s, %v: %+v", name, d, s.Providers)
			}
		}
	}
}
