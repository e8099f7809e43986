package consumer

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

var update = flag.Bool("update", false, "write the generated parts of docs/errors.md anew")

const errorsPage = "../../docs/errors.md"

// TestErrorsPage_S4_3_is_what_the_code_does compares the tables of docs/errors.md with the code: the errors with the
// defaults, and the presets.
func TestErrorsPage_S4_3_is_what_the_code_does(t *testing.T) {
	raw := must.Get(os.ReadFile(errorsPage))(t)
	page := string(raw)
	for name, table := range map[string]string{"errors": errorsTable(Explain(parse(t, "")).Table), "presets": presetsTable()} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
		from := strings.Index(page, begin)
		must.That(t, from >= 0, "%s has no part %q", errorsPage, begin)
		from += len(begin)
		to := from + strings.Index(page[from:], end)
		if *update {
			page = page[:from] + table + page[to:]
		} else if page[from:to] != table {
			t.Errorf("%s: the table of %s is stale; run this test with -update", errorsPage, name)
		}
	}
	if *update {
		must.Do(t, os.WriteFile(errorsPage, []byte(page), 0o644))
	}
}

func errorsTable(rows []Explanation) string {
	var b strings.Builder
	b.WriteString("| Code | What gives it | Class | Level | Category | Alert |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.Code, strings.ReplaceAll(r.Condition, "*", `\*`), r.Class, r.Level, r.Category, r.Alert)
	}
	return b.String()
}

func presetsTable() string {
	var b strings.Builder
	b.WriteString("| Preset | Strategy | Attempts | Waits |\n|---|---|---|---|\n")
	for _, p := range policy.Presets() {
		policy := policy.Policies{Default: p.Policy()}.For("")
		var waits []string
		for attempt := 1; attempt < policy.MaxAttempts; attempt++ {
			waits = append(waits, span(policy.Bounds(attempt, nil)))
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %d | %s |\n", p, policy.Strategy, policy.MaxAttempts, strings.Join(waits, ", "))
	}
	return b.String()
}

func TestExplain_S4_3_shows_what_is_in_force(t *testing.T) {
	cfg := must.Get(config.Parse("test.yaml", []byte(`
pipeline:
  id: parcels
  retry_policy:
    max_attempts: 3
    base_delay_seconds: 2.0
    retryable_status_codes: [429, 500]
    policies: {conflict: {strategy: fixed, jitter_seconds: 0}}
    rules:
      - {status: 409, class: retry_backoff, category: conflict}
      - {code: tls, class: retry_backoff, category: network, alert: P2}
      - {sqlstate: "57014", class: row}
      - {sqlstate: "58030", class: retry_backoff, category: database}
  tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}
`), nil))(t)
	x := Explain(cfg)
	line := func(e Explanation) string {
		return strings.Join([]string{e.Condition, string(e.Code), string(e.Class), string(e.Category), string(e.Alert), e.Answer}, " | ")
	}
	var rules, table []string
	for _, r := range x.Rules {
		rules = append(rules, line(r))
	}
	for _, r := range x.Table {
		table = append(table, line(r))
	}
	if want := []string{
		"HTTP 409 |  | retry_backoff | conflict |  | 3 attempts, after 2s, 2s",
		"code tls | tls | retry_backoff | network | P2 | 3 attempts, after 2s–3s, 8s–9s",
		"SQLSTATE 57014 |  | row |  |  | dead letter",
		"SQLSTATE 58030 |  | retry_backoff | database |  | 3 attempts, after 2s–3s, 8s–9s",
	}; !slices.Equal(rules, want) {
		t.Errorf("rules:\n got  %q\n want %q", rules, want)
	}
	for _, want := range []string{
		"HTTP 500 | http_server_error | retry_backoff | server | P2 | 3 attempts, after 2s–3s, 8s–9s",
		"HTTP 501, 505–599 | http_server_error | permanent | server | P2 | dead letter",
		"no space left on the device, or the quota is used up (ENOSPC, EDQUOT); SQLSTATE 53100 (disk full); SQLSTATE 53400 (a configured limit, such as temp_file_limit) | disk_full | permanent | environment | P1 | pauses the pipeline; the record stays where it is",
		"HTTP 503 | http_unavailable | permanent | server | P2 | dead letter",
		"too many open files, no buffers, a device that fails (EMFILE, ENFILE, ENOBUFS, EIO); SQLSTATE 58030 (input or output failed) | io_failed | retry_backoff | io | P1 | 2 attempts, after 2s–3s; then it pauses the pipeline; the record stays where it is",
		"the system is out of memory (ENOMEM); SQLSTATE 53200 (out of memory) | out_of_memory | retry_backoff | memory | P1 | 2 attempts, after 2s–3s",
		"HTTP 409 | http_client_error | retry_backoff | conflict | P3 | 3 attempts, after 2s, 2s",
		"HTTP 429 | http_too_many_requests | retry_after | rate_limit | P2 | 3 attempts, after 2s–3s, 8s–9s",
		"a certificate that is not trusted, a TLS alert, a server that does not speak TLS | tls | retry_backoff | network | P2 | 3 attempts, after 2s–3s, 8s–9s",
	} {
		expect.That(t, slices.Contains(table, want), "the table lacks %q", want)
	}
	for _, e := range classify.Taxonomy() {
		expect.That(t, slices.ContainsFunc(x.Table, func(r Explanation) bool { return r.Code == e.Code && r.Condition != "" }), "%s has no row", e.Code)
	}
}

func TestTimelines_S3_3_askTheEnginesOwnDecision(t *testing.T) {
	cfg := must.Get(config.Parse("test.yaml", []byte(`
pipeline:
  id: parcels
  retry_policy:
    max_attempts: 5
    base_delay_seconds: 2.0
    retryable_status_codes: [429, 503]
    policies:
      timeout: {preset: stac, max_attempts: 3}
      database: {strategy: decorrelated_jitter}
      io: {max_attempts: 2}
  tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}
`), nil))(t)
	got := Timelines(cfg)
	want := map[string][]string{
		"network, server, rate_limit, registry, conflict, broker, other": {
			"2: 2s to 3s in parcels.retry-2s", "3: 8s to 9s in parcels.retry-8s",
			"4: 1m0s to 1m1s in parcels.retry-60s", "5: 1m0s to 1m1s in parcels.retry-60s",
		},
		"timeout": {"2: 500ms to 1s in parcels.retry-2s", "3: 1s to 2s in parcels.retry-2s"},
		"database": {
			"2: 2s to 6s in parcels.retry-2s to parcels.retry-8s", "3: 2s to 18s in parcels.retry-2s to parcels.retry-60s",
			"4: 2s to 54s in parcels.retry-2s to parcels.retry-60s", "5: 2s to 1m0s in parcels.retry-2s to parcels.retry-60s",
		},
		"memory": {"2: 2s to 3s in parcels.retry-2s"},
		"io":     {"2: 2s to 3s in parcels.retry-2s"}, // the same delays, but another end
	}
	expect.That(t, len(got) == len(want), "%d timelines, want %d", len(got), len(want))
	for _, line := range got {
		var waits []string
		for _, w := range line.Waits {
			waits = append(waits, fmt.Sprintf("%d: %v to %v in %s", w.Attempt, w.Least, w.Most, strings.Join(w.Tiers, " to ")))
		}
		expect.That(t, line.Pauses == (line.Name() == "io"), "%s: pauses the pipeline in the end: %v", line.Name(), line.Pauses)
		name := line.Name()
		expect.That(t, slices.Equal(waits, want[name]), "%s:\n got  %q\n want %q", name, waits, want[name])
	}
}
