package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
)

// reload reads the pipeline file again at each SIGHUP, until the context ends. A file with a fault changes nothing.
func reload(ctx context.Context, hangup <-chan os.Signal, file string, consumer *consumer.Consumer, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		next, err := config.Load(file)
		if err == nil {
			err = consumer.Reload(ctx, next)
		}
		if err != nil {
			log.ErrorContext(ctx, "SIGHUP: the configuration is not reloaded; the settings stay as they are", "file", file, "error", err)
		}
	}
}
