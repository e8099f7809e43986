// Package kafka adds to Kafka's client what the engine needs. It connects to the cluster (Access), lets an instance
// join, leave and fence its group (Member), keeps the partitions of one number together in the group, chooses a
// record's partition, stores what a topic accepts, makes batches of the records of one transaction, and commits
// positions with them. It has no notion of attempts, keys or policies, and decides nothing about a record.
package kafka
