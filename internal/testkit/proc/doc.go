// Package proc builds the project's commands once and runs them as real processes for tests: own configuration files,
// own environment, signals, captured output, exit codes.
//
// A process never outlives the test binary, however that ends: each process is on a leash (see leash.go). The package
// does not depend on Kafka and does not judge output.
package proc
