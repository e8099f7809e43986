// Package proc builds the project's commands once and runs them as real
// processes for tests: own configuration files, own environment, signals,
// captured output, exit codes.
//
// A process never outlives the test binary, however that one ends: each is on a
// leash (see leash.go). The package knows nothing of Kafka and judges no output.
package proc
