// Package kafka adds to Kafka's client what the engine needs: it keeps the partitions of one number together in a group,
// chooses a record's partition, knows what a topic accepts, makes batches of the records of one transaction, and commits
// positions with them. It knows no attempts, keys or policies.
package kafka
