package deploy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

const (
	rulesFile   = "prometheus/rules.yaml"
	metricsPage = "../docs/metrics.md"
	runbook     = "../docs/alerts.md"
	runbookAt   = "https://github.com/switchback-geo/switchback/blob/main/docs/alerts.md#"
)

// rule is one alert or recording rule.
type rule struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	err := yaml.UnmarshalWithOptions(text, into)
	must.That(t, err == nil, "%s: %v", file, err)
}

func rules(t *testing.T) (alerts, records []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	load(t, rulesFile, &file)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				alerts = append(alerts, r)
			} else {
				records = append(records, r)
			}
		}
	}
	must.That(t, len(alerts) != 0, "%s has no alert", rulesFile)
	return alerts, records
}

// S4-10, S4-11: an alert waits five minutes, and the person on call can read in it how urgent it is, what it is
// about, what happens automatically and what to do first. rules_test.yaml shows the complete texts.
func TestAlerts_S4_10_S4_11_eachSaysWhatIsStaleWhatIsDoneAndWhatToDo(t *testing.T) {
	severities := map[string]string{"P1": "critical", "P2": "warning", "P3": "info"}
	alerts, _ := rules(t)
	known := exportedMetrics(t)
	for _, a := range alerts {
		want := severities[a.Labels["priority"]]
		expect.That(t, want != "" && a.Labels["severity"] == want && a.For == "5m", "%s: priority %q with severity %q after %s", a.Alert, a.Labels["priority"], a.Labels["severity"], a.For)
		want = runbookAt + strings.ToLower(a.Alert)
		expect.That(t, a.Annotations["runbook_url"] == want, "%s: runbook_url is %q, want %q", a.Alert, a.Annotations["runbook_url"], want)
		for _, name := range []string{"summary", "description", "runs", "impact", "progress", "dead_letters", "recovery", "steps"} {
			text := a.Annotations[name]
			expect.That(t, text != "" && (name != "summary" || !strings.Contains(text, "{{")), "%s: %s %q; want a text, and one summary for every occurrence, so that alerts group", a.Alert, name, text)
			for _, metric := range metricName.FindAllString(text, -1) {
				if metric != "up" && !known[metric] { // "up to" is not a metric
					t.Errorf("%s: %s uses %s, which is not exported", a.Alert, name, metric)
				}
			}
		}
	}
}

// S4-11: the commands in alerts exist: a command of the consumer has a help, and one of the replayer is complete and
// fails only because there is no broker.
func TestAlerts_S4_11_theCommandsExist(t *testing.T) {
	alerts, _ := rules(t)
	pipeline := filepath.Join(t.TempDir(), "pipeline.yaml")
	text := "pipeline:\n  id: parcels\n  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [503] }\n" +
		"  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }\nkafka: { brokers: [\"127.0.0.1:1\"] }\n"
	must.Do(t, os.WriteFile(pipeline, []byte(text), 0o600))
	values := strings.NewReplacer("FILE", pipeline, "ID", "0-1-0123abcd", "{{ $labels.code }}", "timeout", "plan.jsonl", filepath.Join(t.TempDir(), "plan.jsonl"))
	binaries := must.Get(proc.Build(t.Context(), t.TempDir(), "consumer", "replayer"))(t)
	tried := map[string]int{}
	for _, a := range alerts {
		for _, command := range regexp.MustCompile(`\b(consumer|replayer) (\w+(?: ID| -\w FILE| -f [\w.]+| --\w+ \{\{.*?\}\})*)`).FindAllStringSubmatch(a.Annotations["steps"], -1) {
			args, code, says := strings.Fields(values.Replace(command[2])), 1, "cannot reach Kafka"
			if command[1] == "consumer" {
				args, code, says = []string{args[0], "--help"}, 0, ""
			}
			cmd := exec.CommandContext(t.Context(), binaries[command[1]], args...)
			said, _ := cmd.CombinedOutput() // the exit code shows it
			tried[command[1]]++
			got := cmd.ProcessState.ExitCode()
			expect.That(t, got == code && strings.Contains(string(said), says), "%s: %s ends with %d: %s", a.Alert, command[0], got, said)
		}
	}
	expect.That(t, tried["replayer"] >= 10 && tried["consumer"] >= 10, "commands found: %v, want at least ten of each in the alerts", tried)
}

// C-7: the person who gets an alert about lag finds out what to do: each alert has a section in the runbook, and each
// section an alert.
func TestAlerts_agree_with_the_runbook(t *testing.T) {
	alerts, _ := rules(t)
	sections := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^###? `).Split(string(must.Get(os.ReadFile(runbook))(t)), -1) {
		if title, body, _ := strings.Cut(part, "\n"); strings.HasPrefix(title, "Switchback") {
			sections[title] = body
		}
	}
	for _, a := range alerts {
		wanted := []string{"\n" + a.Labels["priority"] + ", ", "\n**Symptom.** ", "\n**Metric.** ", "\n**Action.** ", "\n**Verification.** "}
		for _, name := range metricName.FindAllString(a.Expr, -1) {
			wanted = append(wanted, "`"+name)
		}
		for _, part := range wanted {
			expect.That(t, strings.Contains(sections[a.Alert], part), "%s, section %s: has no %q", runbook, a.Alert, part)
		}
		delete(sections, a.Alert)
	}
	expect.That(t, len(sections) == 0, "%s has sections without an alert: %v", runbook, slices.Collect(maps.Keys(sections)))
}

var metricName = regexp.MustCompile(`(?:pipeline:)?\bswitchback_\w+(?::\w+)*|\bup\b`)

// A rule over a metric that is not exported never fires, and looks like good news.
func TestAlerts_use_only_metrics_that_exist(t *testing.T) {
	alerts, records := rules(t)
	known := exportedMetrics(t)
	known["up"] = true // Prometheus's own, one per target
	for _, r := range records {
		known[r.Record] = true
	}
	for _, r := range append(alerts, records...) {
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			expect.That(t, known[name], "%s%s uses %s, which is not exported", r.Alert, r.Record, name)
		}
	}
}

// S2-8, S4-9, S4-10: promtool runs the unit tests of the rules; here it is only counted that no alert is forgotten.
func TestAlerts_each_has_a_unit_test_that_fires_and_one_that_does_not(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, name := range []string{"prometheus/rules_test.yaml", "prometheus/rules_week_test.yaml"} {
		var file struct {
			Tests []struct {
				Alerts []struct {
					Name     string           `yaml:"alertname"`
					Expected []map[string]any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			} `yaml:"tests"`
		}
		load(t, name, &file)
		for _, test := range file.Tests {
			for _, a := range test.Alerts {
				fires[a.Name] = fires[a.Name] || len(a.Expected) > 0
				silent[a.Name] = silent[a.Name] || len(a.Expected) == 0
			}
		}
	}
	alerts, _ := rules(t)
	for _, a := range alerts {
		expect.That(t, fires[a.Alert] && silent[a.Alert], "%s: the unit tests show it firing: %v, silent: %v; want both", a.Alert, fires[a.Alert], silent[a.Alert])
	}
}

// exportedMetrics returns the names of the metrics that internal/telemetry registers, read from its
// source: a histogram also under the names that Prometheus stores.
func exportedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	name := regexp.MustCompile(`^switchback_[a-z_]+$`)
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages := must.Get(parser.ParseDir(token.NewFileSet(), "../internal/telemetry", notTest, parser.SkipObjectResolution))(t)
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !name.MatchString(text) {
				return true
			}
			known[text] = true
			if strings.HasSuffix(text, "_seconds") {
				known[text+"_bucket"], known[text+"_count"], known[text+"_sum"] = true, true, true
			}
			return true
		})
	}
	must.That(t, len(known) >= 10, "found only %d metrics in internal/telemetry", len(known))
	return known
}

// Every metric has a row on the page of metrics.
func TestMetricsPage_lists_every_metric(t *testing.T) {
	text := must.Get(os.ReadFile(metricsPage))(t)
	for name := range exportedMetrics(t) {
		if regexp.MustCompile(`_(bucket|count|sum)$`).MatchString(name) {
			continue
		}
		expect.That(t, strings.Contains(string(text), "`"+name), "%s does not list %s", metricsPage, name)
	}
}
