// Package worker is one instance of the chaos suite: an engine of pkg/retrytopics with a handler that treats each record
// as its bytes determine (package feed), and a journal of every step.
//
// It runs as a process of its own, from the test's binary, with its settings in an environment variable. SIGTERM shuts
// it down.
package worker
