// Package keyorder decides in which order the events of one key take effect: which record may run, and which one
// waits behind another record or a dead letter. It returns the new state of the key. Its functions are pure; the
// engine and the simulation call the same ones. It has no topics, no clock and no storage, and compares no versions.
package keyorder
