package demo

import (
	"reflect"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
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
	expect.That(t, before.Geometry.Validity == transform.ValidityReject && after.Geometry.Validity == transform.ValidityFlag,
		"validity %s, then %s", before.Geometry.Validity, after.Geometry.Validity)
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

// The arithmetic that the story rests on: with the pipeline's tiers, what fails in the outage is through
// before the fourth attempt, and the minute's tier ends within a run of a minute and a half.
func TestDefaultStory_fits_the_tiers(t *testing.T) {
	story, policy := DefaultStory(), mustSettings(t, Options{}).before.Pipeline.RetryPolicy
	tiers, jitter := policy.TierDelays(), policy.MaxJitter()
	end := story.Script.OutageAfter + story.Script.OutageFor
	third := tiers[0] + tiers[1]
	expect.That(t, third < story.Script.OutageFor, "the third attempt comes %v after the first: no record would need the last tier", third)
	expect.That(t, story.Pace.Spread >= end, "the events end after %v, before the outage does (%v)", story.Pace.Spread, end)
	last := end + tiers[2] + jitter
	expect.That(t, last <= 85*time.Second, "the last retry is due %v after the first event", last)
	fourth := tiers[2]
	expect.That(t, fourth >= end, "a fourth attempt can come %v after the first event, while the service still misbehaves", fourth)
	expect.That(t, policy.MaxAttempts >= 4, "%d attempts, want 4: three in the outage, one to succeed", policy.MaxAttempts)
}
