// Package kafka adds to Kafka's client what the engine needs. It knows how the cluster is reached (Access), lets an instance
// join, leave and fence its group (Member), keeps the partitions of one number together in the group, chooses a record's
// partition, knows what a topic accepts, makes batches of the records of one transaction, and commits positions with them.
// It knows no attempts, keys or policies, and it decides nothing about a record.
package kafka
