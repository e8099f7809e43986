// Package consumer is the life of a consumer process: it connects configuration, pipeline, engine, sink, journal, gates and telemetry,
// starts and stops them in order, names the instance, follows the orders of the control topic, and sums up a run. It has no rule of its
// own about records.
package consumer
