package consumer

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
)

// Reload applies the keys of another configuration that can change while the consumer runs: rates, breakers and the log
// level. It logs each key that it applies, and each that needs a restart. It may be called from one goroutine at a time.
func (c *Consumer) Reload(ctx context.Context, next *config.Config) error {
	taken, restart, err := config.Changes(c.latest, next)
	if err != nil {
		return fmt.Errorf("compare the configurations: %w", err)
	}
	for _, key := range restart {
		c.log.WarnContext(ctx, "configuration: this change needs a restart", "key", key)
	}
	if len(taken) == 0 {
		c.log.InfoContext(ctx, "configuration reloaded; nothing of it changes while the consumer runs", "needs_restart", len(restart))
		return nil
	}
	c.latest = c.latest.Taking(next)
	c.work.Retune(c.latest)
	if c.sink != nil {
		c.sink.Retune(c.latest.Sink.PostGIS.Breaker)
	}
	if c.level != nil {
		c.level.Set(c.latest.Log.Level.Slog())
	}
	c.log.InfoContext(ctx, "configuration reloaded", "changed", strings.Join(taken, ", "), "needs_restart", len(restart))
	return nil
}
