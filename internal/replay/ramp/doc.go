// Package ramp decides how fast a replay goes: how many letters a wave has, whether the next wave may
// start, and how long to wait so that a rate is kept. Everything here is a pure function of what it is
// given; sending letters and hearing what became of them is the work of internal/replay.
package ramp
