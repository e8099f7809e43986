package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/sample"
)

type initFlags struct {
	out   string
	force bool
	names sample.Names
}

func newInit() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init SAMPLE",
		Short: "Write a commented pipeline file from a sample of real features",
		Long: fmt.Sprintf(`Read the first %d features of SAMPLE (a file, or - for standard input): GeoJSON features one a line or
otherwise one after another, a sequence (RFC 8142), or a FeatureCollection, plain or compressed with gzip. Texts that cannot be
read are skipped and counted. Write a pipeline file that maps the features: fields with their types, the feature ID, the
reference system, the geometry types, and the mandatory keys with the reason for each value. A field has the type of most
of its values; a comment names the others. A ? in a comment marks what the sample does not show.


The file passes consumer validate. Look at it, then try it: consumer transform -c FILE < SAMPLE`, sample.MaxFeatures),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write it into this file instead of standard output; it must not exist")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the file of --out")
	cmd.Flags().StringVar(&f.names.ID, "id", "", "pipeline.id: the name in topics, headers, metrics and logs (default: from the name of the sample)")
	cmd.Flags().StringVar(&f.names.Topic, "topic", "", "topic to read (default: the id)")
	cmd.Flags().StringSliceVar(&f.names.Brokers, "brokers", nil, "host:port of some brokers (default: "+config.Variable("kafka.brokers")+", or 127.0.0.1:9092)")
	return cmd
}

// oneArgument requires the sample as the only argument.
func oneArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return usageError(fmt.Errorf("`%s` needs one argument: a sample of features; - is standard input", cmd.CommandPath()))
}

func (f initFlags) run(cmd *cobra.Command, from string) error {
	in, closing, err := open(cmd, from)
	if err != nil {
		return err
	}
	defer closing()
	seen, err := read(cmd.Context(), in)
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case err != nil:
		return usageError(fmt.Errorf("%s: %w", from, err))
	}
	if f.names.ID == "" {
		f.names.ID = idOf(from)
	}
	if f.names.Topic == "" {
		f.names.Topic = f.names.ID
	}
	if len(f.names.Brokers) == 0 {
		f.names.Brokers = usualBrokers()
	}
	f.names.From = filepath.Base(from)
	if from == "-" {
		f.names.From = "standard input"
	}
	text := seen.PipelineFile(f.names)
	cfg, err := config.Parse("the file that init would write", text, nil)
	if err != nil { // names that no pipeline accepts: the flags' or the sample's
		return usageError(err)
	}
	if err := f.write(cmd, from, text); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "consumer: from %s; %s marked with a ?\n", cli.Count(seen.Features, "feature"), cli.Count(bytes.Count(text, []byte("# ?")), "line"))
	if seen.Skipped > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "consumer: warning: skipped %d of %s that are no features, the first in %v\n", seen.Skipped, cli.Count(seen.Skipped+seen.Features, "text"), seen.FirstSkipped)
	}
	return tried(cmd, cfg, seen)
}

// read reads the sample. An interrupt ends the wait for input that does not arrive.
func read(ctx context.Context, in io.Reader) (*sample.Sample, error) {
	type result struct {
		seen *sample.Sample
		err  error
	}
	done := make(chan result, 1)
	go func() {
		seen, err := sample.Read(ctx, in)
		done <- result{seen, err}
	}()
	select {
	case r := <-done:
		return r.seen, r.err
	case <-ctx.Done(): // a blocked reader ends with the process
		return nil, ctx.Err()
	}
}

// tried maps the sample with the new file, and prints how many of its features are refused.
func tried(cmd *cobra.Command, cfg *config.Config, seen *sample.Sample) error {
	mapping, err := pipeline.NewMapping(cfg)
	if err != nil {
		return err
	}
	refused, first := 0, error(nil)
	for _, text := range seen.Texts {
		if err := mapping.TryValue(cmd.Context(), text); err != nil {
			refused, first = refused+1, cmp.Or(first, err)
		}
	}
	if refused > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "consumer: warning: it refuses %d of %s of the sample, the first: %v\n", refused, cli.Count(seen.Features, "feature"), first)
	}
	return cmd.Context().Err()
}

func open(cmd *cobra.Command, from string) (io.Reader, func(), error) {
	if from == "-" {
		return cmd.InOrStdin(), func() {}, nil
	}
	file, err := os.Open(from)
	if err != nil {
		return nil, nil, usageError(err)
	}
	return file, func() { _ = file.Close() }, nil
}

// write writes the file, completely or not at all. It overwrites an existing file only with --force, and never the
// sample.
func (f initFlags) write(cmd *cobra.Command, from string, text []byte) error {
	if f.out == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	there, err := os.Stat(f.out)
	if given, none := os.Stat(from); err == nil && none == nil && os.SameFile(there, given) {
		return usageError(fmt.Errorf("%s is the sample itself", f.out))
	}
	if err == nil && !f.force {
		return usageError(fmt.Errorf("%s exists; --force overwrites it", f.out))
	}
	file, err := os.CreateTemp(filepath.Dir(f.out), ".init-*")
	if err != nil {
		return usageError(fmt.Errorf("--out: %w", err))
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close()) // an editor's permissions; the file has no secret
	if err == nil {
		err = os.Rename(file.Name(), f.out)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("--out: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// usualBrokers returns the brokers that the environment names, or else the local one.
func usualBrokers() []string {
	brokers := strings.Split(cmp.Or(os.Getenv(config.Variable("kafka.brokers")), "127.0.0.1:9092"), ",")
	for i, b := range brokers {
		brokers[i] = strings.TrimSpace(b)
	}
	return brokers
}

// idOf makes a pipeline ID from a file name.
func idOf(from string) string {
	name, _, _ := strings.Cut(filepath.Base(from), ".")
	name = strings.Trim(notInID.ReplaceAllString(strings.ToLower(name), "-"), "-_")
	if name == "" {
		return "features"
	}
	return name[:min(len(name), 100)]
}

var notInID = regexp.MustCompile(`[^a-z0-9_-]+`)
