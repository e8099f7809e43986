package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/status"
)

func newStatus() *cobra.Command {
	var f statusFlags
	cmd := withFile(&cobra.Command{
		Use:   "status -c FILE",
		Short: "Show the state, lag and waiting records of the pipeline",
		Long: `Show the state of the pipeline: whether it is paused, which instances run, the lag of its group, how many
records wait in the tiers, and which circuits are open.

With --watch it is repeated, with the records that arrive and are committed per second and the time until
there is no lag: in place on a terminal, otherwise as one line of JSON each time (-o ndjson).`,
	}, func(cmd *cobra.Command, cfg *config.Config, file string) error {
		if f.watch && f.output.format == "json" {
			return usageError(errors.New("--watch prints one object after another: use -o ndjson"))
		}
		if f.watch {
			if err := cli.CheckPeriod(f.every); err != nil {
				return err
			}
		}
		return withControl(cmd.Context(), cfg, file, func(client *kgo.Client, view control.View) error {
			return f.show(cmd, cfg, client, view)
		})
	})
	f.output = outputFlag(cmd)
	cmd.Flags().StringSliceVar(&f.metrics, "metrics", nil, "host:port of the instances whose circuits are shown (default metrics.listen, on this machine)")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "repeat it until interrupted")
	cmd.Flags().DurationVar(&f.every, "every", 2*time.Second, "how often, with --watch")
	return cmd
}

type statusFlags struct {
	output  *outputValue
	metrics []string
	watch   bool
	every   time.Duration
}

func (f *statusFlags) show(cmd *cobra.Command, cfg *config.Config, client *kgo.Client, view control.View) error {
	if !cmd.Flags().Changed("metrics") {
		f.metrics = local(cfg.Metrics.Listen)
	}
	letters := deadletters.NewCounter(client, cfg.Topics.DLQ, cfg.Topics.DLQStatus)
	gather := func(ctx context.Context, view control.View) (status.Report, error) {
		return status.Gather(ctx, cfg, kadm.NewClient(client), view, f.metrics, letters)
	}
	if f.watch {
		return f.watching(cmd, func(ctx context.Context) (status.Report, error) {
			view, err := control.Read(ctx, client.Opts(), cfg.Topics.Control)
			if err != nil {
				return status.Report{}, err
			}
			return gather(ctx, view)
		})
	}
	report, err := gather(cmd.Context(), view)
	switch {
	case err != nil:
		return err
	case f.output.people():
		return report.Text(cmd.OutOrStdout())
	default:
		return f.output.encode(cmd.OutOrStdout(), report)
	}
}

// local returns the address of an instance on this machine, according to its configuration.
func local(listen string) []string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return nil
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return []string{net.JoinHostPort(host, port)}
}

// watching shows reports until the command is interrupted, which is its normal end.
func (f *statusFlags) watching(cmd *cobra.Command, gather func(context.Context) (status.Report, error)) error {
	out := cmd.OutOrStdout()
	size := cli.TerminalSize(out)
	return status.Watch(cmd.Context(), f.every, gather, func(s status.Seen, trouble error) error {
		width, height, terminal := size()
		if terminal && f.output.people() {
			return cli.RedrawScreen(out, s.Screen(time.Now(), trouble, width, height))
		}
		if trouble != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "consumer: no new report: %v\n", trouble)
			return nil
		}
		return (&outputValue{format: "ndjson"}).encode(out, s)
	})
}

// healthTimeout bounds a health check.
const healthTimeout = 5 * time.Second

func newHealth() *cobra.Command {
	return withFile(&cobra.Command{
		Use:   "health -c FILE",
		Short: "Ask the instance on this machine whether it is ready",
		Long: `Ask /readyz of the instance on this machine, at metrics.listen. The exit code is 0 if the instance is a member of its
consumer group, otherwise 1, with the reason. It serves as a health check in containers, whose image has no curl.`,
	}, func(cmd *cobra.Command, cfg *config.Config, _ string) error {
		return ready(cmd.Context(), cfg.Metrics.Listen, cmd.OutOrStdout())
	})
}

// ready asks the instance that listens at an address whether it is ready.
func ready(ctx context.Context, address string, out io.Writer) error {
	if address == "" {
		return usageError(errors.New(`metrics.listen is "", so the instance serves no health endpoint; set it to host:port`))
	}
	at := local(address)
	if len(at) == 0 {
		return usageError(fmt.Errorf("metrics.listen %q is not a host:port to which a request can be sent", address))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at[0]+"/readyz", http.NoBody)
	if err != nil {
		return usageError(err)
	}
	client := http.Client{Timeout: healthTimeout}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the instance does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return fmt.Errorf("the instance does not answer: %w", err)
	}
	text := cli.CleanText(strings.TrimSpace(string(body)), cli.OneLine)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the instance is not ready: %s", cmp.Or(text, answer.Status))
	}
	_, err = fmt.Fprintln(out, text)
	return err
}
