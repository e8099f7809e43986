// Package keyorder decides in which order the events of one key take effect: which record may run, which one waits behind another
// one or behind a dead letter, and what is known of the key afterwards. Its functions are pure; the engine and the simulation call
// the same ones. It knows no topics, no clock and no storage, and compares no versions.
package keyorder
