package consumer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/simulate"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Explanation is one row of the error table that is in force for a configuration.
type Explanation struct {
	Condition string            `json:"condition"`
	Code      classify.Code     `json:"code,omitempty"` // "" for a rule without one
	Class     classify.Class    `json:"class"`
	Level     classify.Level    `json:"level,omitempty"`
	Category  classify.Category `json:"category,omitempty"`
	Alert     classify.Alert    `json:"alert,omitempty"`
	Answer    string            `json:"answer"`
}

// Explained is the error table in force: first the file's own rules, of which the first match counts, then the defaults.
type Explained struct {
	Rules []Explanation `json:"rules"`
	Table []Explanation `json:"table"`
}

// Explain returns how the classifier and the policies of a configuration treat every code. The code of an HTTP status
// has a row for each treatment.
func Explain(cfg *config.Config) Explained {
	engine := retries(cfg).Retries
	x := explainer{classify: engine.Classify, policies: cfg.Pipeline.RetryPolicy.Engine(), tiers: engine.Tiers, tolerance: cfg.Pipeline.Tolerance}
	out := Explained{Rules: []Explanation{}}
	for _, r := range cfg.Pipeline.RetryPolicy.Rules {
		out.Rules = append(out.Rules, x.rule(r))
	}
	for _, e := range classify.Taxonomy() {
		if byStatus := x.statuses(e); len(byStatus) > 0 {
			out.Table = append(out.Table, byStatus...)
			continue
		}
		out.Table = append(out.Table, x.row(e.Condition(), x.classify(classify.WithCode(e.Code, classify.StageHandler, errors.New(string(e.Code))))))
	}
	return out
}

type explainer struct {
	classify  func(error) classify.Failure
	policies  policy.Policies
	tiers     []policy.Tier
	tolerance config.Tolerance
}

func (x explainer) row(condition string, f classify.Failure) Explanation {
	return Explanation{condition, f.Code, f.Class, f.Level, f.Category, f.Alert, x.answer(f)}
}

func (x explainer) rule(r classify.Rule) Explanation {
	var parts []string
	add := func(set bool, text string) {
		if set {
			parts = append(parts, text)
		}
	}
	add(r.Code != "", "code "+string(r.Code))
	add(r.Status != 0, "HTTP "+strconv.Itoa(r.Status))
	add(r.SQLState != "", "SQLSTATE "+r.SQLState)
	add(r.Kafka != 0, "Kafka "+strconv.Itoa(r.Kafka))
	add(r.Stage != "", "stage "+string(r.Stage))
	transient := classify.Failure{Class: r.Class}.Transient()
	answer := "as in the policy of its category"
	if r.Category != "" {
		answer = x.waits(r.Category)
	}
	if !transient {
		answer = deadLetter
	}
	return Explanation{Condition: strings.Join(parts, ", "), Code: r.Code, Class: r.Class, Category: r.Category, Alert: r.Alert, Answer: answer}
}

// statuses returns the rows of the code of an HTTP status: one for each treatment, with its statuses.
func (x explainer) statuses(e classify.Entry) []Explanation {
	var answers []classify.Failure
	var members [][]int
	for status := 200; status < 600; status++ {
		f := x.classify(&classify.HTTPError{Status: status})
		if f.Code != e.Code {
			continue
		}
		i := slices.IndexFunc(answers, func(a classify.Failure) bool {
			return a.Class == f.Class && a.Category == f.Category && a.Alert == f.Alert
		})
		if i < 0 {
			i = len(answers)
			answers, members = append(answers, f), append(members, nil)
		}
		members[i] = append(members[i], status)
	}
	var out []Explanation
	for i, f := range answers {
		condition := "HTTP " + ranges(members[i])
		if e.When != "" {
			condition += ": " + e.When
		}
		out = append(out, x.row(condition, f))
	}
	return out
}

// ranges formats ascending numbers as 402, 405–409.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		text := strconv.Itoa(numbers[i])
		if j > i {
			text += "–" + strconv.Itoa(numbers[j])
		}
		parts = append(parts, text)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// These are the consequences of a record's last failure.
const (
	deadLetter = "dead letter"
	pauses     = "pauses the pipeline; the record stays where it is"
)

// answer describes what happens to a record with a failure.
func (x explainer) answer(f classify.Failure) string {
	switch {
	case x.tolerance.PausesAtOnce(f):
		return pauses
	case !f.Transient():
		return deadLetter
	case f.Class == classify.RetryNow:
		return "at once, three times in process; then " + x.waits(f.Category)
	default:
		return x.waits(f.Category)
	}
}

// waits describes how often and after which waits a failure of the category is retried.
func (x explainer) waits(category classify.Category) string {
	policy := x.policies.For(category)
	var parts []string
	for _, w := range waits(x.policies, x.tiers, category) {
		parts = append(parts, span(w.Least, w.Most))
		if len(parts) == maxWaitsShown && policy.MaxAttempts > maxWaitsShown+1 {
			parts = append(parts, "…")
			break
		}
	}
	last := deadLetter
	if category.Blocks() {
		last = pauses
	}
	if len(parts) == 0 {
		return "at the first failure: " + last
	}
	text := fmt.Sprintf("%d attempts, after %s", policy.MaxAttempts, strings.Join(parts, ", "))
	if last == pauses {
		text += "; then it " + pauses
	}
	return text
}

// maxWaitsShown bounds a cell of the table.
const maxWaitsShown = 6

func span(shortest, longest time.Duration) string {
	if shortest == longest {
		return config.Duration(shortest).String()
	}
	return config.Duration(shortest).String() + "–" + config.Duration(longest).String()
}

// Timeline is the sequence of waits of a record that fails transiently, each time for the same reason.
type Timeline struct {
	Categories []classify.Category // the failure categories that share it
	Policy     policy.Policy
	Waits      []Wait
	Pauses     bool // the last failure pauses the pipeline instead of making a dead letter
}

// Name lists the categories.
func (t Timeline) Name() string {
	names := make([]string, len(t.Categories))
	for i, c := range t.Categories {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// Wait is the wait before one attempt.
type Wait struct {
	Attempt     int           // the attempt that follows it, from 2
	Least, Most time.Duration // jitter included
	Tiers       []string      // the topic, or the first and last of those that the delay may choose
}

// Timelines returns the retry timeline of every category, in the order of classify.RetriedCategories; categories with
// equal timelines share one. It uses the engine's own decision.
func Timelines(cfg *config.Config) []Timeline {
	e := retries(cfg)
	policies := policy.Policies{Default: e.Retries.Policy, ByCategory: e.Retries.ByCategory}
	var out []Timeline
	for _, category := range classify.RetriedCategories() {
		policy := policies.For(category)
		same := slices.IndexFunc(out, func(t Timeline) bool { return t.Policy == policy && t.Pauses == category.Blocks() })
		if same >= 0 {
			out[same].Categories = append(out[same].Categories, category)
			continue
		}
		out = append(out, Timeline{Categories: []classify.Category{category}, Policy: policy, Waits: waits(policies, e.Retries.Tiers, category), Pauses: category.Blocks()})
	}
	return out
}

// waits computes the delay after each attempt twice: with the luckiest draw and with the unluckiest.
func waits(policies policy.Policies, tiers []policy.Tier, category classify.Category) []Wait {
	failure := classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, Category: category}
	start := time.Unix(0, 0).UTC()
	decide := func(tried policy.Tried, draw float64) policy.Decision {
		return policy.Decide(policies, tiers, tried, failure, start, func() float64 { return draw })
	}
	var out []Wait
	longest := time.Duration(0)
	for attempt := 1; ; attempt++ {
		first := decide(policy.Tried{Attempts: attempt}, 0)
		last := decide(policy.Tried{Attempts: attempt, LastDelay: longest}, 1)
		if first.Outcome != policy.OutcomeRetried {
			return out
		}
		longest = last.Due.Sub(start)
		w := Wait{Attempt: attempt + 1, Least: first.Due.Sub(start), Most: longest, Tiers: []string{tiers[first.Tier].Topic}}
		if last.Tier != first.Tier {
			w.Tiers = append(w.Tiers, tiers[last.Tier].Topic)
		}
		out = append(out, w)
	}
}

// Simulation returns the rules of a pipeline's consumer for a simulation.
func Simulation(cfg *config.Config) simulate.System {
	return simulate.NewSystem(cfg, retries(cfg))
}
