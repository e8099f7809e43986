//go:build linux

package main

import (
	"log/slog"
	"os"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// An explicit name is used unchanged. Only the host's own name is made unique.
func TestName_S3_1(t *testing.T) {
	host := must.Get(os.Hostname())(t)
	for name, c := range map[string]struct{ flag, file, first, second string }{
		"without a name":          {"", host, host, host + "-2"},
		"named by the flag":       {"a", host, "a", "a"},
		"named by the file":       {"", "b", "", ""}, // the file's name counts
		"named by both":           {"a", "b", "a", "a"},
		"the flag names the host": {host, host, host, host},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &config.Config{}
			cfg.Source.Group, cfg.Engine.Instance = t.Name(), c.file
			for _, want := range []string{c.first, c.second} {
				got, _, release, err := runFlags{instance: c.flag}.name(cfg, slog.New(slog.DiscardHandler))
				expect.That(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
				defer release()
			}
		})
	}
}
