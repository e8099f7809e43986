// Package policy decides what happens to a record after an attempt: whether it is retried, when and in which retry
// topic, or whether it becomes a dead letter.
//
// [Decide] takes the policies of all categories, the tiers, the history of the record and the failure, and returns a
// [Decision]. A [Strategy] computes the delay, a [Preset] names figures for a kind of provider, [Surface] and [Wake]
// decide when a record that waits in a tier runs.
//
// The package is pure: time and randomness are arguments. It reads no configuration file, uses no Kafka client, and
// classifies no error; package classify does.
package policy
