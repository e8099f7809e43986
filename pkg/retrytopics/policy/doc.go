// Package policy decides what becomes of a record after an attempt: whether a failure is tried again, when and in which retry topic,
// or whether the record is a dead letter.
//
// [Decide] takes the policies of all categories, the tiers, what the record has been through and the failure, and returns a
// [Decision]. A [Strategy] computes the delay, a [Preset] names figures for a kind of provider, [Surface] and [Wake] say when a record
// that waits in a tier runs.
//
// The package is pure: time and randomness are arguments. It reads no configuration file, knows no Kafka client, and classifies no
// error; package classify does.
package policy
