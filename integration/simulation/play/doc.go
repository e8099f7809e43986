// Command play runs simulated worlds, each in its own process, and reports those that break a promise. It reduces a
// failing world and prints its story.
//
//	go run ./integration/simulation/play -seeds 1000
//
// With -tally it writes down which seeds of a commit it has run, so that a long run can be stopped, continued, and
// divided between machines. It judges nothing itself.
package main
