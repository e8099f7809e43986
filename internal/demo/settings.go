package demo

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/config"
)

// addresses is what the demo puts into its pipeline files: where its own services listen.
type addresses struct{ broker, places, metrics string }

// settings are the two pipelines of the demo, and the file that holds the second for other programs.
type settings struct {
	before, after *config.Config
	file          string
}

// newSettings loads the embedded pipeline files with the demo's addresses in them. Everything else
// is as the files say, or as the environment overrides it.
func newSettings(a addresses, o Options) (*settings, error) {
	over := map[string]string{
		"CI":                                  "", // the story is about the attempts of its file, also on a build server
		config.Variable("kafka.brokers"):      a.broker,
		config.Variable("enrich[0].http.url"): "http://" + a.places + "/place?id={id}",
		config.Variable("metrics.listen"):     cmp.Or(a.metrics, `""`), // the empty string, as opposed to not set
	}
	if len(o.Story.Tiers) > 0 {
		over[config.Variable("pipeline.retry_policy.base_delay_seconds")] = fmt.Sprint(o.Story.Tiers[0].Seconds())
		var tiers []string
		for _, d := range o.Story.Tiers {
			tiers = append(tiers, d.String())
		}
		over[config.Variable("pipeline.retry_policy.tiers")] = strings.Join(tiers, ",")
	}
	if o.Story.Jitter != nil {
		over[config.Variable("pipeline.retry_policy.jitter_seconds")] = fmt.Sprint(o.Story.Jitter.Seconds())
	}
	env := func(name string) string {
		if value, ok := over[name]; ok {
			return value
		}
		return o.Env(name)
	}
	before, err := config.Parse("examples/demo/pipeline.yaml", examples.DemoPipeline(), env)
	if err != nil {
		return nil, err
	}
	after, err := config.Parse("examples/demo/pipeline.fixed.yaml", examples.DemoPipelineFixed(), env)
	if err != nil {
		return nil, err
	}
	return &settings{before: before, after: after}, nil
}

// write puts the pipeline, as it is in force with every default, where consumer and replayer can load it.
func (s *settings) write(dir string) error {
	text, err := s.after.YAML()
	if err != nil {
		return err
	}
	s.file = filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(s.file, text, 0o600); err != nil {
		return fmt.Errorf("write the pipeline file for other programs: %w", err)
	}
	return nil
}
