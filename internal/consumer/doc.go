// Package consumer runs a consumer process. It connects configuration, pipeline, engine, sink, journal, gates and
// telemetry, starts and stops them in order, names the instance, follows the orders of the control topic, and
// summarizes a run. It has no rules of its own about records.
package consumer
