package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
)

// healthTimeout bounds a health check.
const healthTimeout = 5 * time.Second

func newHealth() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "health -c FILE",
		Short: "Ask the instance on this machine whether it is ready",
		Long: `Ask /readyz of the instance on this machine, at metrics.listen. It ends with 0 when the instance is a member
of its consumer group, else with 1 and the reason: a health check for containers, whose image has no curl.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file)
			if err != nil {
				return configError(err)
			}
			return ready(cmd.Context(), cfg.Metrics.Listen, cmd.OutOrStdout())
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// ready asks the instance that listens at an address whether it is ready.
func ready(ctx context.Context, address string, out io.Writer) error {
	if address == "" {
		return usageError(errors.New(`metrics.listen is "": the instance answers no question about its health`))
	}
	at := local(address)
	if len(at) == 0 {
		return usageError(fmt.Errorf("metrics.listen %q is not host:port with a port that can be asked", address))
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
