package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cluster"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/permission"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// orderFlags are those of a command that orders something for the whole pipeline.
type orderFlags struct{ file, reason, by, batch string }

func (f *orderFlags) add(cmd *cobra.Command) {
	configFlag(cmd, &f.file)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, in words; it stands in the status, the logs and the audit trail (mandatory)")
	cmd.Flags().StringVar(&f.by, "by", "", "who orders it (default user@host)")
}

func newPause() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "pause -c FILE --reason TEXT",
		Short: "Hold the pipeline: every instance finishes what it has in hand, commits it and waits",
		Long: `Hold the pipeline, in all its instances and over their restarts, until consumer resume.

Nothing is lost or spent meanwhile: no record is taken or tried, none becomes a dead letter.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.pipeline(cmd, control.Held) },
	}
	f.add(cmd)
	return cmd
}

func newResume() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "resume -c FILE --reason TEXT",
		Short: "Let a held pipeline go on, or take the quarantine from a batch (--batch)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.batch != "" {
				return f.release(cmd)
			}
			return f.pipeline(cmd, control.Running)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.batch, "batch", "", "id of a quarantined batch whose further records are to be processed again")
	return cmd
}

// pipeline orders a phase for the pipeline. One that it has already is no error and no order.
func (f orderFlags) pipeline(cmd *cobra.Command, phase control.Phase) error {
	return f.order(cmd, func(ctx context.Context, view control.View, write *control.Writer, s control.State) error {
		if view.Pipeline.Phase == phase {
			fmt.Fprintln(cmd.ErrOrStderr(), "nothing to do")
			fmt.Fprintln(cmd.OutOrStdout(), view.Pipeline)
			return nil
		}
		s.Phase = phase
		if _, err := write.Pipeline(ctx, s); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), s)
		return nil
	})
}

func (f orderFlags) release(cmd *cobra.Command) error {
	return f.order(cmd, func(ctx context.Context, view control.View, write *control.Writer, s control.State) error {
		if _, quarantined := view.Batches[f.batch]; !quarantined {
			return noMatchError{fmt.Errorf("batch %q is not quarantined; `consumer status` lists those that are", f.batch)}
		}
		s.Phase = control.Running
		if _, err := write.Batch(ctx, f.batch, s); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "batch %s: %s\n", f.batch, s)
		return nil
	})
}

// order reads what stands and calls give with the frame of an order.
func (f orderFlags) order(cmd *cobra.Command, give func(context.Context, control.View, *control.Writer, control.State) error) error {
	if f.reason == "" {
		return usageError{errors.New("say why with --reason: it stands in the audit trail")}
	}
	if f.by == "" {
		f.by = operator()
	}
	return withControl(cmd.Context(), f.file, func(cfg *config.Config, kafka []kgo.Opt, view control.View) error {
		s := control.State{Code: control.CodeOperator, Reason: f.reason, By: f.by, At: time.Now().UTC().Truncate(time.Millisecond)}
		return give(cmd.Context(), view, control.NewWriter(cfg, kafka), s)
	})
}

// operator names who calls, as the system knows it.
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

// withControl loads the file, connects, reads the control topic and calls f.
func withControl(ctx context.Context, file string, f func(*config.Config, []kgo.Opt, control.View) error) error {
	cfg, err := config.Load(file)
	if err != nil {
		return configError(err)
	}
	kafka, err := cluster.Options(cfg.Kafka)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kafka...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := cluster.Reachable(ctx, client); err != nil {
		return err
	}
	view, err := control.Read(ctx, kafka, cfg.Topics.Control)
	named := func(err error) error {
		return permission.Named(cluster.Principal(cfg.Kafka), "consumer topics acls", err)
	}
	if _, refused := errors.AsType[*retrytopics.DeniedError](err); refused {
		return named(err)
	}
	if err != nil {
		return fmt.Errorf("%w; `consumer topics ensure -c %s` creates what is missing", err, file)
	}
	return named(f(cfg, kafka, view))
}
