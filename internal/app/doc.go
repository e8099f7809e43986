// Package app is the life of a consumer process: it puts configuration, pipeline, engine, journal and telemetry together,
// starts them in order, stops them in order, and sums up what a run did. It holds no rule of its own about records.
package app
