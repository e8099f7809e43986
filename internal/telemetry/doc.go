// Package telemetry is what a running consumer shows of itself: metrics for Prometheus, the endpoints /metrics, /healthz
// and /readyz, and structured logs. It decides nothing and keeps no state but counters; labels come from closed lists or
// from the configuration's topic names, never from records.
package telemetry
