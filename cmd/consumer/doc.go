// Command consumer runs a Switchback pipeline: it maps features from a Kafka topic onto a target schema, retries
// transient failures in tiered retry topics, and puts permanent failures into a DLQ.
//
// This package has flags, signals and exit codes only; internal/consumer does the work. cli.Exit lists the exit codes.
package main
