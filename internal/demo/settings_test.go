package demo

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func mustSettings(t *testing.T, o Options) *settings {
	t.Helper()
	o.Env = func(name string) string { return map[string]string{"SWITCHBACK_ENGINE_CONCURRENCY": "7"}[name] }
	return must.Get(newSettings(addresses{broker: "127.0.0.1:1111", places: "127.0.0.1:2222"}, o))(t)
}

func TestSettings_the_fix_changes_nothing_but_the_geometry_rule(t *testing.T) {
	s := mustSettings(t, Options{})
	before, after := s.before.Transform, s.after.Transform
	expect.That(t, before.Geometry.Validity == transform.ValidityReject && after.Geometry.Validity == transform.ValidityFlag, "validity %s, then %s", before.Geometry.Validity, after.Geometry.Validity)
	after.Geometry.Validity, after.Geometry.FlagProperty = before.Geometry.Validity, before.Geometry.FlagProperty
	expect.That(t, reflect.DeepEqual(before, after), "the mapping differs in more than that:\n%+v\n%+v", before, after)
	fixed := *s.after
	fixed.Transform = s.before.Transform
	a, errA := s.before.YAML()
	b, errB := fixed.YAML()
	expect.That(t, errA == nil && errB == nil && string(a) == string(b), "the pipelines differ outside of the mapping:\n%s\n%s", a, b)
}

func TestSettings_the_written_file_is_the_fixed_pipeline(t *testing.T) {
	s := mustSettings(t, Options{})
	must.Do(t, s.write(t.TempDir()))
	t.Setenv("SWITCHBACK_ENGINE_INSTANCE", "")
	cfg := must.Get(config.Load(s.file))(t)
	expect.That(t, cfg.Engine.Instance != instance && cfg.Transform.Geometry.Validity == transform.ValidityFlag,
		"instance %q would fence the demo's own consumer, or validity %s is not the fix", cfg.Engine.Instance, cfg.Transform.Geometry.Validity)
}

// The story relies on this: with the pipeline's tiers, a record that fails in the outage succeeds before the fourth
// attempt, and the one-minute tier ends within a run of a minute and a half.
func TestDefaultStory_fits_the_tiers(t *testing.T) {
	story, policy := DefaultStory(), mustSettings(t, Options{}).before.Pipeline.RetryPolicy
	tiers, jitter := policy.TierDelays(), policy.MaxJitter()
	end := story.Script.OutageAfter + story.Script.OutageFor
	third := tiers[0] + tiers[1]
	expect.That(t, third < story.Script.OutageFor, "the third attempt is %v after the first, so no record would need the last tier", third)
	expect.That(t, story.Pace.Spread >= end, "the events end after %v, before the outage does (%v)", story.Pace.Spread, end)
	last := end + tiers[2] + jitter
	expect.That(t, last <= 85*time.Second, "the last retry is due %v after the first event", last)
	fourth := tiers[2]
	expect.That(t, fourth >= end, "a fourth attempt can come %v after the first event, while the service still misbehaves", fourth)
	expect.That(t, policy.MaxAttempts >= 4, "%d attempts, want 4: three in the outage, one to succeed", policy.MaxAttempts)
}

// Each state of a pass fits a line of 80 columns: events in transit, an outage, and the long wait for the last retries.
func TestFrame(t *testing.T) {
	progress := consumer.Progress{
		Delivered: 4_234, DeadLettered: 40,
		Tiers: []consumer.TierProgress{
			{Topic: "demo.retry-2s", Retried: 2_075},
			{Topic: "demo.retry-60s", Waiting: 1_664, NextDue: time.Now().Add(time.Hour), Retried: 1_664},
		},
	}
	for name, c := range map[string]struct {
		frame frame
		want  []string
	}{
		"producing":         {frame{elapsed: 75 * time.Second, produced: 3_226, events: 4_938, progress: progress}, []string{"01:15  3,226 of 4,938 produced", "1,664 waiting"}},
		"an outage":         {frame{elapsed: time.Second, outage: 14 * time.Second, progress: progress}, []string{"OUTAGE", "503 for 14 s"}},
		"end of the outage": {frame{elapsed: 18 * time.Second, progress: progress}, []string{"00:18  The place-name service is back"}},
		"waiting":           {frame{produced: 4_938, events: 4_938, progress: progress}, []string{"40 dead letters, 1,664 waiting, the next due in"}},
	} {
		text := c.frame.announce() + c.frame.line()
		for _, want := range c.want {
			expect.That(t, strings.Contains(text, want), "%s: %q is missing in\n%s", name, want, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			expect.That(t, utf8.RuneCountInString(line) <= width, "%s: wider than %d: %s", name, width, line)
		}
	}
}
