// Package worker is one instance of the chaos suite: an engine of pkg/retrytopics with a handler whose result depends
// on the bytes of the record (package feed), and a journal of every step.
//
// It runs as a separate process, from the test's binary, with its settings in an environment variable. SIGTERM shuts
// it down.
package worker
