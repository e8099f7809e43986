// Package kafka is what the engine needs of Kafka's client beyond the client itself: how the partitions of one number stay
// together in a group, where a record goes, what a topic takes, how the records of one transaction become batches, and how
// positions are committed with them. It knows no attempts, keys or policies.
package kafka
