package consumer

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/telemetry"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A second instance on a host whose metrics port is in use takes a free one, and says so. With an address of its own it does not start.
func TestServe_takesAFreePort(t *testing.T) {
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { must.Do(t, taken.Close()) }()
	var said strings.Builder
	cfg := &config.Config{}
	cfg.Metrics.Listen = taken.Addr().String()
	c := &Consumer{cfg: cfg, registry: prometheus.NewRegistry(), log: slog.New(slog.NewTextHandler(&said, nil))}
	_, err := c.listen(t.Context())
	_, inUse := errors.AsType[*telemetry.PortError](err)
	expect.That(t, inUse, "%v", err)
	c.anyPort = true
	stop := must.Get(c.serve(t.Context()))(t)
	stop()
	expect.That(t, strings.Contains(said.String(), "the metrics port is in use") && strings.Contains(said.String(), "metrics served"), "%s", &said)
}
