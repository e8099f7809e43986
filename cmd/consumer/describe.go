package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/internal/refdata"
	"github.com/switchback-geo/switchback/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func newDescribe() *cobra.Command {
	return withFile(&cobra.Command{
		Use:   "describe -c FILE",
		Short: "Show the topics of a pipeline and the timeline of its retries",
		Long: `Show the topics of a pipeline with their settings, and when a record that fails each time is tried.
It contacts no broker.`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		report, err := describe(cfg, file)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", refdata.MissingGrids(cfg).Text(file))
		} else if err != nil {
			return usageError(err)
		}
		return printDescription(cmd.OutOrStdout(), cfg, report)
	})
}

func printDescription(out io.Writer, cfg *config.Config, report *refdata.GridReport) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "pipeline\t%s\ngroup\t%s\n\n", cfg.Pipeline.ID, cfg.Source.Group)
	fmt.Fprintln(w, "TOPIC\tROLE\tPARTITIONS\tKEEPS")
	for _, t := range topics.Plan(cfg) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", t.Name, t.Role, t.Partitions, t.Keeping())
	}
	for _, line := range consumer.Timelines(cfg) {
		printTimeline(w, cfg, line)
	}
	fmt.Fprintf(w, "\nAttempts are counted across categories; the category of the latest failure sets the limit. A Retry-After of at most %v overrides the wait.\n",
		cfg.Pipeline.RetryPolicy.RetryAfterLimit)
	if limit, capped := cfg.CappedByCI(); capped {
		fmt.Fprintf(w, "CI=true in the environment: no policy has more than %d attempts (pipeline.retry_policy.ci_max_attempts).\n", limit)
	}
	if cfg.Source.NullKeys == config.NullKeysAccept {
		fmt.Fprintln(w, "Records without a key are accepted: Kafka keeps no order per feature for them.")
	}
	for _, line := range report.Lines() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, precision(cfg))
	printGatesOff(w, cfg)
	return w.Flush()
}

// printGatesOff lists the geometries that pass because their gates are off.
func printGatesOff(w io.Writer, cfg *config.Config) {
	off := gatesOff(cfg)
	if len(off) == 0 {
		return
	}
	fmt.Fprintln(w, "\nGATE THAT IS OFF\tPASSES")
	for _, gate := range off {
		word := gate.Key
		if gate.Word != "" {
			word += ": " + gate.Word
		}
		fmt.Fprintf(w, "%s\t%s\n", word, gate.Passes)
	}
}

// printTimeline prints the waits of a record that fails every time with a failure of these categories.
func printTimeline(w io.Writer, cfg *config.Config, line consumer.Timeline) {
	fmt.Fprintf(w, "\nretries of %s: %s, %d attempts\n", line.Name(), line.Policy.Strategy, line.Policy.MaxAttempts)
	fmt.Fprintln(w, "ATTEMPT\tAFTER A WAIT OF\tIN ALL AT LEAST\tWAITS IN")
	fmt.Fprintf(w, "1\t\t\t%s\n", cfg.Source.Topic)
	total := time.Duration(0)
	for _, step := range line.Waits {
		total += step.Least
		wait := step.Least.String()
		if step.Most > step.Least {
			wait += " to " + step.Most.String()
		}
		fmt.Fprintf(w, "%d\t%s\t%v\t%s\n", step.Attempt, wait, total, strings.Join(step.Tiers, " to "))
	}
	last := cfg.Topics.DLQ
	if line.Pauses {
		last = "stays in place; the pipeline is paused"
	}
	fmt.Fprintf(w, "after %d\t\t\t%s\n", line.Policy.MaxAttempts, last)
}

// gatesOff lists the geometry gates that accept everything.
func gatesOff(cfg *config.Config) []transform.GateOff {
	off := cfg.Transform.GatesOff()
	if cfg.Pipeline.Tolerance.PrecisionDecimalThreshold > 0 { // a floor sets how many decimals pass
		off = slices.DeleteFunc(off, func(g transform.GateOff) bool { return g.Key == "geometry.coarse" })
	}
	return off
}

func keysOf(gates []transform.GateOff) []string {
	var keys []string
	for _, gate := range gates {
		keys = append(keys, gate.Key)
	}
	return keys
}

// precision returns a line about the required precision of coordinates, and the rounding.
func precision(cfg *config.Config) string {
	rounded := fmt.Sprintf("the output is rounded to %s", cli.Count(*cfg.Transform.Geometry.RoundDecimals, "decimal"))
	floor := cfg.Pipeline.Tolerance.PrecisionDecimalThreshold
	if floor == 0 {
		return "precision: no floor (pipeline.tolerance.precision_decimal_threshold); the metric switchback_coordinate_decimals measures it; " + rounded
	}
	return fmt.Sprintf("precision: the floor is %s, broken when more than %d of the last %d ordinates have fewer; %s",
		cli.Count(floor, "decimal"), gates.PrecisionOrdinates/2, gates.PrecisionOrdinates, rounded)
}

// floorOf returns a hook that refuses features below the precision floor, as the pipeline does.
func floorOf(cfg *config.Config) func(*retrytopics.Record, int, *transform.Feature) error {
	judge := gates.New(gates.Limits{Floor: cfg.Pipeline.Tolerance.PrecisionDecimalThreshold})
	var read atomic.Int64
	return func(_ *retrytopics.Record, _ int, source *transform.Feature) error {
		feature, number := source.IDString(), read.Add(1)
		if feature == "" {
			feature = fmt.Sprintf("#%d", number)
		}
		if breach, yes := judge.Precision(time.Time{}, "", gates.SampleOf(feature, source.Geometry.Shape), true); yes {
			return breach.Failure(source.IDString())
		}
		return nil
	}
}
