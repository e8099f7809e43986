package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

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
	if err := yaml.UnmarshalWithOptions(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
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
	if len(alerts) == 0 {
		t.Fatalf("%s has no alert", rulesFile)
	}
	return alerts, records
}

// section is the part of the runbook about one alert.
type section struct{ title, text string }

// alertSections returns the sections of the runbook whose title is the name of an alert.
func alertSections(t *testing.T) map[string]section {
	t.Helper()
	text := must.Get(os.ReadFile(runbook))(t)
	out := map[string]section{}
	for _, part := range regexp.MustCompile(`(?m)^### `).Split(string(text), -1)[1:] {
		title, body, _ := strings.Cut(part, "\n")
		if strings.HasPrefix(title, "Switchback") {
			if end := regexp.MustCompile(`(?m)^## `).FindStringIndex(body); end != nil {
				body = body[:end[0]]
			}
			out[title] = section{title: title, text: body}
		}
	}
	return out
}

// severities says how a priority is called in the words of most Alertmanager routes.
func severities() map[string]string {
	return map[string]string{"P1": "critical", "P2": "warning", "P3": "info"}
}

func TestAlerts_each_says_how_urgent_it_is_and_where_to_read_on(t *testing.T) {
	alerts, _ := rules(t)
	for _, a := range alerts {
		if want := severities()[a.Labels["priority"]]; want == "" || a.Labels["severity"] != want {
			t.Errorf("%s: priority %q with severity %q", a.Alert, a.Labels["priority"], a.Labels["severity"])
		}
		if want := runbookAt + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", a.Alert, a.Annotations["runbook_url"], want)
		}
		if a.For != "5m" {
			t.Errorf("%s: S4-10 gives five minutes in which things may fix themselves, this one %q", a.Alert, a.For)
		}
		if a.Annotations["summary"] == "" || strings.Contains(a.Annotations["summary"], "{{") {
			t.Errorf("%s: the summary must be the same for every occurrence, so that alerts group", a.Alert)
		}
		if !strings.Contains(a.Annotations["description"], "$labels.pipeline") {
			t.Errorf("%s: the description does not name the pipeline", a.Alert)
		}
	}
}

// S4-11: whoever is woken knows what it is about before opening anything. What is said of the pipeline is one text in all alerts;
// what happens by itself and what to do first are each alert's own. rules_test.yaml shows them filled in.
func TestAlerts_S4_11_eachSaysWhatIsStaleWhatIsDoneAndWhatToDo(t *testing.T) {
	alerts, _ := rules(t)
	metrics := map[string][]string{
		"runs": {"switchback_run_info"}, "impact": {"switchback_lag_seconds"},
		"progress":     {"switchback_records_consumed_total", "checkpoint", "switchback_lag_records", "switchback_tier_waiting_records"},
		"dead_letters": {"switchback_records_dead_lettered_total", "humanizePercentage"},
	}
	known := exportedMetrics(t)
	for _, a := range alerts {
		for name, parts := range metrics {
			text := a.Annotations[name]
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %s does not tell %s", a.Alert, name, part)
				}
			}
			for _, metric := range metricName.FindAllString(text, -1) {
				if metric != "up" && !known[metric] { // "up to" is no metric
					t.Errorf("%s: %s uses %s, which is not exported", a.Alert, name, metric)
				}
			}
			if text != alerts[0].Annotations[name] {
				t.Errorf("%s: %s is another one than that of %s", a.Alert, name, alerts[0].Alert)
			}
		}
		if a.Annotations["recovery"] == "" || !regexp.MustCompile(`\b(consumer|replayer) \w+`).MatchString(a.Annotations["steps"]) {
			t.Errorf("%s: recovery %q, steps %q; want what happens by itself, and a command", a.Alert, a.Annotations["recovery"], a.Annotations["steps"])
		}
	}
}

// S4-11: a command in an alert is one that there is.
func TestAlerts_S4_11_theCommandsExist(t *testing.T) {
	alerts, _ := rules(t)
	known := map[string]bool{}
	for program, source := range map[string]string{"consumer": "../cmd/consumer", "replayer": "../cmd/replayer"} {
		for _, command := range commandsIn(t, source) {
			known[program+" "+command] = true
		}
	}
	for _, a := range alerts {
		for _, command := range regexp.MustCompile(`\b(?:consumer|replayer) \w+`).FindAllString(a.Annotations["steps"], -1) {
			if !known[command] {
				t.Errorf("%s: there is no %q", a.Alert, command)
			}
		}
	}
}

// S4-11: what an alert tells the replayer to do is a whole command: it is refused for nothing but the broker that is not there.
func TestAlerts_S4_11_theReplayersCommandsAreWhole(t *testing.T) {
	alerts, _ := rules(t)
	pipeline := filepath.Join(t.TempDir(), "pipeline.yaml")
	text := "pipeline:\n  id: parcels\n  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [503] }\n" +
		"  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }\nkafka: { brokers: [\"127.0.0.1:1\"] }\n"
	must.Do(t, os.WriteFile(pipeline, []byte(text), 0o600))
	values := strings.NewReplacer("FILE", pipeline, "ID", "0-1-0123abcd", "{{ $labels.code }}", "timeout", "plan.jsonl", filepath.Join(t.TempDir(), "plan.jsonl"))
	binaries := must.Get(proc.Build(t.Context(), t.TempDir(), "replayer"))(t)
	tried := 0
	for _, a := range alerts {
		for _, command := range regexp.MustCompile(`\breplayer (\w+(?: ID| -\w FILE| -f [\w.]+| --\w+ \{\{.*?\}\})*)`).FindAllStringSubmatch(a.Annotations["steps"], -1) {
			var said bytes.Buffer
			cmd := exec.CommandContext(t.Context(), binaries["replayer"], strings.Fields(values.Replace(command[1]))...)
			cmd.Stderr = &said
			_ = cmd.Run() // the exit code says it
			tried++
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(said.String(), "cannot reach Kafka") {
				t.Errorf("%s: %s ends with %d: %s", a.Alert, command[0], code, &said)
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d commands found, at least ten stand in the alerts", tried)
	}
}

// commandsIn reads the names of a program's commands from its source.
func commandsIn(t *testing.T, source string) []string {
	t.Helper()
	files, err := filepath.Glob(source + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no source: %v", source, err)
	}
	var names []string
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, use := range regexp.MustCompile(`Use:\s+"(\w+)`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, use[1])
		}
	}
	return names
}

// The limit is that of the document, over a sliding window; rules_test.yaml shows it on both sides.
func TestAlerts_S2_8_retriesAboveFifteenPercent(t *testing.T) {
	alerts, _ := rules(t)
	i := slices.IndexFunc(alerts, func(a rule) bool { return a.Alert == "SwitchbackRetryRate" })
	if i < 0 {
		t.Fatal("no alert")
	}
	a := alerts[i]
	if !strings.HasSuffix(strings.TrimSpace(a.Expr), "> 0.15") || !strings.Contains(a.Expr, "rate(switchback_records_retried_total[10m])") {
		t.Errorf("%s: %s", a.Alert, a.Expr)
	}
}

// C-7: whoever is alerted about lag finds out what to do.
func TestAlerts_agree_with_the_runbook(t *testing.T) {
	alerts, _ := rules(t)
	sections := alertSections(t)
	for _, a := range alerts {
		s, ok := sections[a.Alert]
		if !ok {
			t.Errorf("%s has no section %q for the alert", runbook, "### "+a.Alert)
			continue
		}
		delete(sections, a.Alert)
		for _, faultOf := range []func(rule, section) string{missingParts, missingPriority, missingMetrics, missingLimit} {
			if fault := faultOf(a, s); fault != "" {
				t.Errorf("%s, section %s: %s", runbook, a.Alert, fault)
			}
		}
	}
	for title := range sections {
		t.Errorf("%s has a section %s, and there is no such alert", runbook, title)
	}
}

// missingParts holds a section to its four parts, each with a text.
func missingParts(_ rule, s section) string {
	parts := regexp.MustCompile(`(?m)^\*\*(\w+)\.\*\* \S`).FindAllStringSubmatch(s.text, -1)
	var names []string
	for _, p := range parts {
		names = append(names, p[1])
	}
	if want := []string{"Symptom", "Metric", "Action", "Verification"}; !slices.Equal(names, want) {
		return "has the parts " + strings.Join(names, ", ") + "; want " + strings.Join(want, ", ")
	}
	return ""
}

func missingPriority(a rule, s section) string {
	if !strings.Contains(s.text, a.Labels["priority"]+",") {
		return "does not say that its priority is " + a.Labels["priority"]
	}
	return ""
}

var metricName = regexp.MustCompile(`(?:pipeline:)?\bswitchback_\w+(?::\w+)*|\bup\b`)

func missingMetrics(a rule, s section) string {
	for _, name := range metricName.FindAllString(a.Expr, -1) {
		if !strings.Contains(s.text, "`"+name) {
			return "does not name the metric " + name
		}
	}
	return ""
}

// missingLimit holds the number in the text to the one in the expression.
func missingLimit(a rule, s section) string {
	spoken := map[string]string{"0": "above 0", "10000": "10,000", "300": "300", "0.01": "1 %", "0.05": "5 %", "0.15": "15 %", "0.5": "50 %", "1.5": "1.5 times", "2": "2 times"}
	for _, m := range regexp.MustCompile(`> ([0-9.]+)`).FindAllStringSubmatch(a.Expr, -1) {
		if word, ok := spoken[m[1]]; !ok || !strings.Contains(s.text, word) {
			return "does not name the limit " + m[1]
		}
	}
	return ""
}

// A rule over a metric that nobody exports never fires, and looks like peace.
func TestAlerts_use_only_metrics_that_exist(t *testing.T) {
	alerts, records := rules(t)
	known := exportedMetrics(t)
	known["up"] = true // Prometheus's own, one per target
	for _, r := range records {
		known[r.Record] = true
	}
	for _, r := range append(alerts, records...) {
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			if !known[name] {
				t.Errorf("%s%s uses %s, which is not exported", r.Alert, r.Record, name)
			}
		}
	}
}

// S4-9, S4-10: promtool runs the unit tests of the rules; here it is only counted that none was forgotten.
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
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: the unit tests show it firing: %v, silent: %v; want both", a.Alert, fires[a.Alert], silent[a.Alert])
		}
	}
}
