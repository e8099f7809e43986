// Package ramp controls the speed of a replay: how many dead letters a wave has, whether the next wave may start, and
// how long to wait to keep a rate. All functions are pure. internal/replay sends the records and reads their
// outcomes.
package ramp
