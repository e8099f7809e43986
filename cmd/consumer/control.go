package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// orderFlags are the flags of a command that gives an order for the whole pipeline.
type orderFlags struct {
	reason, by, batch string

	gatesOff time.Duration // how long no rate gate pauses a resumed pipeline
}

func (f *orderFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason, shown in the status, the logs and the audit trail (mandatory)")
	cmd.Flags().StringVar(&f.by, "actor", "", "who gives the order (default user@host)")
}

func newPause() *cobra.Command {
	var f orderFlags
	cmd := withFile(&cobra.Command{
		Use:   "pause -c FILE --reason TEXT",
		Short: "Pause the pipeline; records in flight are finished and committed",
		Long: `Pause the pipeline on all instances, across restarts, until consumer resume.

Meanwhile no record is consumed or attempted, and none becomes a dead letter.`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		return f.pipeline(cmd, cfg, file, control.Paused)
	})
	f.add(cmd)
	return cmd
}

func newResume() *cobra.Command {
	var f orderFlags
	cmd := withFile(&cobra.Command{
		Use:   "resume -c FILE --reason TEXT",
		Short: "Resume a paused pipeline, or free a quarantined batch (--batch)",
		Long: `Resume a paused pipeline on all instances. The command prints what had paused it.

The windows of the gates start empty. A rate that is still above its threshold pauses the pipeline again as soon as an
instance has seen min_records. With --for 10m, no rate pauses it for ten minutes: null rate, transient rate, dead-letter rate
and the floor of precision. A person, the codes of pause_on and a full disk still pause it, and bad batches are still
quarantined. The end of that time is in the control topic and applies to instances that start later. Without --for, resume ends it.`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		if err := f.checkGatesOff(cmd.Flags().Changed("for")); err != nil {
			return err
		}
		if f.batch != "" {
			return f.release(cmd, cfg, file)
		}
		return f.pipeline(cmd, cfg, file, control.Running)
	})
	f.add(cmd)
	cmd.Flags().StringVar(&f.batch, "batch", "", "id of a quarantined batch whose further records are to be processed again")
	cmd.Flags().DurationVar(&f.gatesOff, "for", 0, "ignore the rate thresholds for this long, such as 10m; at most "+config.Duration(control.MaxGatesOff).String())
	return cmd
}

// checkGatesOff returns the fault of --for.
func (f orderFlags) checkGatesOff(given bool) error {
	switch limit := config.Duration(control.MaxGatesOff); {
	case !given:
		return nil
	case f.batch != "":
		return usageError(errors.New("--for is about the gates of the whole pipeline, --batch about one batch: set one of them"))
	case f.gatesOff <= 0:
		return usageError(fmt.Errorf("--for %s: want a time above 0, such as 10m; to end a time without gates, leave it out", f.gatesOff))
	case f.gatesOff > limit.Std():
		return usageError(fmt.Errorf("--for %s: want at most %s; to have no gate for longer, set the rates under pipeline.tolerance to 1", f.gatesOff, limit))
	}
	return nil
}

// pipeline orders a phase for the pipeline. If the pipeline has that phase already, nothing is ordered, which is not
// an error.
func (f orderFlags) pipeline(cmd *cobra.Command, cfg *config.Config, file string, phase control.Phase) error {
	return f.order(cmd, cfg, file, func(ctx context.Context, write *control.Writer, view control.View, s control.State) error {
		before := view.Pipeline
		gatesAreOff := s.At.Before(before.GatesOff)
		if before.Phase == phase && f.gatesOff == 0 && !gatesAreOff {
			fmt.Fprintln(cmd.ErrOrStderr(), "nothing to do")
			fmt.Fprintln(cmd.OutOrStdout(), before)
			return nil
		}
		s.Phase = phase
		if f.gatesOff > 0 {
			s.GatesOff = s.At.Add(f.gatesOff)
		}
		if _, err := write.Pipeline(ctx, s); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), s)
		if phase == control.Running {
			fmt.Fprint(cmd.ErrOrStderr(), resumed(cfg.Pipeline.Tolerance, before, s))
		}
		return nil
	})
}

func (f orderFlags) release(cmd *cobra.Command, cfg *config.Config, file string) error {
	return f.order(cmd, cfg, file, func(ctx context.Context, write *control.Writer, view control.View, s control.State) error {
		if _, quarantined := view.Batches[f.batch]; !quarantined {
			return cli.ExitError{Code: cli.ExitNothing, Err: fmt.Errorf("batch %q is not quarantined; `consumer status` lists those that are", f.batch)}
		}
		s.Phase = control.Running
		if _, err := write.Batch(ctx, f.batch, s); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "batch %s: %s\n", f.batch, s)
		return nil
	})
}

// order reads the current orders and calls give with the fields of a new order.
func (f orderFlags) order(cmd *cobra.Command, cfg *config.Config, file string, give func(context.Context, *control.Writer, control.View, control.State) error) error {
	if f.reason == "" {
		return usageError(errors.New("set the reason with --reason; it is written to the audit trail"))
	}
	if f.by == "" {
		f.by = operator()
	}
	return withControl(cmd.Context(), cfg, file, func(client *kgo.Client, view control.View) error {
		s := control.State{Code: control.CodeOperator, Reason: f.reason, By: f.by, At: time.Now().UTC().Truncate(time.Millisecond)}
		return give(cmd.Context(), control.NewWriter(cfg, client.Opts()), view, s)
	})
}

// operator returns the caller's name in the operating system.
func operator() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// rateCodes are the codes of the gates that --for switches off.
func rateCodes() []control.Code {
	return []control.Code{
		control.CodeNullRate, control.CodeTransientRate, control.CodeDeadLetterRate, control.Code(classify.CodePrecisionDegraded),
	}
}

// resumed describes why a resumed pipeline was paused, and when the gates judge again.
func resumed(t config.Tolerance, before, now control.State) string {
	var out strings.Builder
	switch {
	case before.IsPaused():
		fmt.Fprintf(&out, "it was %s\n", before)
	case before.GatesOff.After(now.At):
		fmt.Fprintf(&out, "the rate gates had been turned off by %s: %s\n", before.By, before.Reason)
	}
	if !now.GatesOff.IsZero() {
		fmt.Fprintf(&out, "the rate gates are off until %s; a person, pause_on and permanent causes still pause the pipeline\n"+
			"consumer resume without --for, or consumer pause, ends that\n", now.GatesOff.UTC().Format(time.RFC3339))
		return out.String()
	}
	fmt.Fprintf(&out, "the windows of the gates are empty; each instance applies them again after %d records, over %s (pipeline.tolerance)\n", t.MinRecords, t.Window)
	if slices.Contains(rateCodes(), before.Code) && before.IsPaused() {
		fmt.Fprint(&out, "if it is paused again and should run anyway: consumer resume --for 10m --reason …\n")
	}
	return out.String()
}
