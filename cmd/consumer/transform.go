package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

type transformFlags struct {
	file, rejects string
	meta, enrich  bool
}

func newTransform() *cobra.Command {
	var f transformFlags
	cmd := &cobra.Command{
		Use:   "transform -c FILE < IN > OUT",
		Short: "Map lines of JSON without Kafka, to try out a mapping",
		Long: `Read one feature a line from standard input, map each as the pipeline would, and write the
mapped ones to standard output as GeoJSON, one a line. A text may also extend over several lines, follow another one, or
stand in a sequence (RFC 8142), and the input may be compressed with gzip.

A line is what source.format says: geojson (auto, too: a line has no headers), jsonfg, cloudevents
(in structured mode) or debezium (as JSON). Avro is bytes, and refused. A line has no record key; in Kafka each
record needs one, unless source.null_keys is accept.

A refused line goes to standard error, or to the file of --rejects, as one JSON object:
line, code, message, path, value, rule. It never stops the others. Lines below the floor of
tolerance.precision_decimal_threshold, which pauses a pipeline, are refused. Remote steps run only with --enrich. At the end,
a warning names each field whose property no GeoJSON line had. The exit code is 0 if every line passed, otherwise 4.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	configFlagOnly(cmd, &f.file) // an argument would be read as the input
	cmd.Flags().StringVar(&f.rejects, "rejects", "", "write refused lines to this file instead of standard error")
	cmd.Flags().BoolVar(&f.meta, "meta", false, `add a member "switchback" to each feature: feature_id, content_hash, version`)
	cmd.Flags().BoolVar(&f.enrich, "enrich", false, "run the remote steps, too")
	return cmd
}

// collectLater is the heap growth, in percent, at which garbage is collected. A line is garbage once it is written,
// and little else is in memory. At Go's default of 100 the collector uses a third of the processor time, and on a
// second core more than that core contributes.
const collectLater = 400

func (f transformFlags) run(cmd *cobra.Command) (err error) {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(collectLater))
	}
	cfg, err := config.Load(f.file)
	if err != nil {
		return usageError(err)
	}
	if !f.enrich {
		cfg.Enrich = nil
	}
	cfg.Output.Format = config.OutputGeoJSON // lines, whatever the topic has
	headers, err := pipeline.FormatHeaders(cfg.Source)
	if err != nil {
		return usageError(err)
	}
	work, err := pipeline.New(cfg, nil)
	if err != nil {
		return usageError(err)
	}
	defer work.Close()
	work.Observe(pipeline.Hooks{Read: floorOf(cfg)})
	if err := work.Load(cmd.Context()); err != nil {
		return err
	}
	var rejects io.Writer = cmd.ErrOrStderr()
	if f.rejects != "" {
		file, createErr := os.Create(f.rejects)
		if createErr != nil {
			return usageError(fmt.Errorf("--rejects: %w", createErr))
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		rejects = file
	}
	from := sourcesOf(cfg)
	handle := func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		from.line(r.Value)
		return work.Handle(ctx, r)
	}
	options := pipeline.FilterOptions{Handle: handle, Headers: headers, MaxLine: cfg.Source.MaxRecordBytes, Meta: f.meta}
	summary, err := pipeline.Filter(cmd.Context(), options, cmd.InOrStdin(), cmd.OutOrStdout(), rejects)
	if err == nil {
		from.warn(cmd.ErrOrStderr())
	}
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case err != nil:
		return err
	case summary.Rejected > 0:
		if f.rejects != "" { // otherwise standard error has only the lines, for the program that reads them
			fmt.Fprintf(cmd.ErrOrStderr(), "consumer: %d of %s rejected; see %s\n", summary.Rejected, cli.Count(summary.Read, "line"), f.rejects)
		}
		return cli.ExitError{Code: cli.ExitPartly, Err: errRejected}
	}
	return nil
}

// sources collects the source properties of an input's GeoJSON features, to warn of a rule whose property never occurs:
// a misspelt name of an optional field would pass silently. Its methods are safe for concurrent use.
type sources struct {
	mapping transform.Config
	rules   []sourceRule

	mu    sync.Mutex
	read  int
	names map[string]bool // of properties at the top, at most mostNames
}

// sourceRule is a rule of the mapping that reads a property.
type sourceRule struct {
	key, from string
	line      int
	found     bool
}

// mostNames bounds the names that are kept for suggestions.
const mostNames = 1000

func sourcesOf(cfg *config.Config) *sources {
	s := &sources{mapping: cfg.Mapping(), names: map[string]bool{}}
	for i, f := range cfg.Transform.Fields {
		if f.Expr == "" {
			place := fmt.Sprintf("fields[%d]", i)
			s.rules = append(s.rules, sourceRule{key: "transform." + place + ".from", from: cmp.Or(f.From, f.To), line: s.mapping.Lines[place]})
		}
	}
	return s
}

// line collects the features of one line, before anything is refused. It ignores texts that are not features.
func (s *sources) line(text []byte) {
	v, err := transform.ParseValue(text)
	if err != nil {
		return // the pipeline reports the fault
	}
	features := []transform.Value{v}
	if all, ok := v.Member("features"); ok {
		features = all.Items()
	}
	for _, feature := range features {
		if properties, ok := feature.Member("properties"); ok {
			s.note(&transform.Feature{Properties: properties.Members()})
		}
	}
}

// note collects one feature.
func (s *sources) note(f *transform.Feature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read++
	for i := range s.rules {
		if rule := &s.rules[i]; !rule.found {
			rule.found = s.mapping.Finds(f, rule.from)
		}
	}
	for _, member := range f.Properties {
		if len(s.names) < mostNames {
			s.names[member.Name] = true
		}
	}
}

// warn writes a line for each rule whose property no feature had.
func (s *sources) warn(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == 0 {
		return
	}
	for _, rule := range s.rules {
		if !rule.found {
			fmt.Fprintf(out, "consumer: warning: %s (line %d): none of %s has the property %q%s\n", rule.key, rule.line, cli.Count(s.read, "feature"), rule.from, s.meant(rule.from))
		}
	}
}

// meant returns the property that was probably meant.
func (s *sources) meant(from string) string {
	if rest, prefixed := strings.CutPrefix(from, "properties."); prefixed && s.names[rest] {
		return fmt.Sprintf("; from begins at the properties: write %q", rest)
	}
	if near := config.Nearest(from, slices.Sorted(maps.Keys(s.names))); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
