package main

import (
	"log/slog"
	"os"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
)

// name returns the name of this instance: --instance, or a name of the host that no other process of the group has. It
// does not check a given name, which may have to take over from a process that hangs. others counts the processes that
// took a name of this host before. Call release after the instance has left its group.
func (f runFlags) name(cfg *config.Config, log *slog.Logger) (instance string, others int, release func(), err error) {
	host, err := os.Hostname()
	if f.instance != "" || err != nil || cfg.Engine.Instance != host {
		return f.instance, 0, func() {}, nil //nolint:nilerr // without a host name, one was given: config.Load sees to it
	}
	own, err := consumer.ReserveInstance(cfg.Source.Group, host)
	if err != nil {
		return "", 0, nil, err
	}
	if own.Taken > 0 {
		log.Info("other instances of this group run on this host; this one has a name of its own", "instance", own.Name, "others", own.Taken)
	}
	return own.Name, own.Taken, func() { _ = own.Release() }, nil // the end of the process releases it in any case
}
