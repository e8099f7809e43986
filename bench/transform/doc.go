// Package transform measures the consumer's work for one event. README.md explains how to run it and has results. It
// only contains benchmarks, and only asserts the output bytes.
package transform
