// Package worker is one instance under fire: an engine of pkg/retrytopics with a
// handler that does to each record what the record's own bytes say (package feed),
// and a journal of every step.
//
// It is run as a process of its own, from the test's binary, with its settings in
// an environment variable; it ends in order on SIGTERM and in no order otherwise.
package worker
