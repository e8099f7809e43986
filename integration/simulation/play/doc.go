// Command play plays simulated worlds, each in a process of its own, and says which of them broke a promise. A failing world
// is made smaller, and its story printed.
//
//	go run ./integration/simulation/play -seeds 1000
//
// It keeps a tally of what was played for each commit when asked for, so that a night's work can be stopped, gone on with, and
// split over machines. It judges nothing itself.
package main
