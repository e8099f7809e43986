// Package telemetry exposes the state of a running consumer: it exports metrics for Prometheus and serves /metrics,
// /healthz and /readyz. It makes no decisions and keeps no state except counters. Labels come from closed lists or from
// the configuration, never from records.
package telemetry
