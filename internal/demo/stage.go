package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/topics"
)

// stage has all components of the demo: broker, topics, place-name service, pipeline files, web console.
type stage struct {
	settings *settings
	places   *placeService
	console  string      // where the web console listens
	client   *kgo.Client // produces the events and counts the topics
	broker   *devbroker.Broker
	undo     []func() error // in the order of building; run backwards
}

// build starts all parts. If one fails, it stops those that it has started.
func build(ctx context.Context, o Options) (_ *stage, err error) {
	s := &stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	dir, err := s.folder()
	if err != nil {
		return nil, err
	}
	var configured []string
	if list := o.Env(config.Variable("kafka.brokers")); list != "" {
		configured = strings.Split(list, ",")
	}
	s.broker, err = devbroker.Start(devbroker.Options{Port: o.KafkaPort, ConfiguredBrokers: configured})
	if err != nil {
		return nil, err
	}
	s.later(func() error { s.broker.Close(); return nil })
	if s.places, err = startPlaces(o.Story.Script); err != nil {
		return nil, err
	}
	s.later(s.places.Close)
	s.settings, err = newSettings(addresses{broker: s.broker.Addr(), places: s.places.addr, metrics: o.MetricsListen}, o)
	if err != nil {
		return nil, err
	}
	if err := s.settings.write(dir); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	console, end, err := startConsole(ctx, s.settings.after, o.ConsoleListen)
	if err != nil {
		return nil, err
	}
	s.console = console
	s.later(end)
	return s, nil
}

// connect creates the demo's own client and the topics.
func (s *stage) connect(ctx context.Context) error {
	opts, err := kafka.ClientOptions(s.settings.before.Kafka)
	if err != nil {
		return err
	}
	s.client, err = kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("connect to the embedded broker: %w", err)
	}
	s.later(func() error { s.client.Close(); return nil })
	report, err := topics.Ensure(ctx, kadm.NewClient(s.client), topics.Plan(s.settings.before))
	if err != nil {
		return err
	}
	if len(report.Faults) > 0 {
		return fmt.Errorf("the topics do not fit: %s", report)
	}
	return nil
}

// folder makes a temporary folder for the pipeline file.
func (s *stage) folder() (string, error) {
	dir, err := os.MkdirTemp("", "switchback-demo-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the pipeline file: %w", err)
	}
	s.later(func() error { return os.RemoveAll(dir) })
	return dir, nil
}

func (s *stage) later(f func() error) { s.undo = append(s.undo, f) }

// close stops everything, in reverse order.
func (s *stage) close() error {
	var err error
	for _, undo := range slices.Backward(s.undo) {
		err = errors.Join(err, undo())
	}
	s.undo = nil
	return err
}

// addresses are where the demo's own services listen. The demo writes them into its pipeline files.
type addresses struct{ broker, places, metrics string }

// settings are the two pipelines of the demo, and the file with the second one for other programs.
type settings struct {
	before, after *config.Config
	file          string
}

// newSettings loads the embedded pipeline files with the demo's addresses. All other settings come from the files or the
// environment.
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

// write writes the pipeline in force, with every default, to a file that consumer and replayer can load.
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
