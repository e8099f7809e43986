package consumer

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"

	"github.com/switchback-geo/switchback/internal/telemetry"
)

// listen opens the port of the metrics server.
func (c *Consumer) listen(ctx context.Context) (*telemetry.Server, error) {
	health := telemetry.Health{
		Live: func() string { return "" },
		Ready: func() string {
			_, why := c.engine.Ready()
			return cmp.Or(c.orders.ready(), why)
		},
	}
	server, err := telemetry.Listen(c.cfg.Metrics.Listen, c.registry, health)
	used, is := errors.AsType[*telemetry.PortError](err)
	if !is || !c.anyPort {
		return server, err
	}
	c.log.WarnContext(ctx, "the metrics port is in use, perhaps by another instance on this host: a free one is taken, which Prometheus does not know; name one with --metrics", "address", used.Address)
	host, _, err := net.SplitHostPort(c.cfg.Metrics.Listen)
	if err != nil {
		return nil, err
	}
	return telemetry.Listen(net.JoinHostPort(host, "0"), c.registry, health)
}

// serve starts the metrics server, if it is configured.
func (c *Consumer) serve(ctx context.Context) (stop func(), err error) {
	if c.cfg.Metrics.Listen == "" {
		return func() {}, nil
	}
	server, err := c.listen(ctx)
	if err != nil {
		return nil, err
	}
	c.log.InfoContext(ctx, "metrics served", "address", server.Address())
	// The server outlives ctx, so that the last figures are available while the consumer finishes.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { server.Run(serving, c.log) })
	return func() { cancel(); wg.Wait() }, nil
}
