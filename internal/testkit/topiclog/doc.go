// Package topiclog is a test's direct access to Kafka: it creates topics with unique names, produces records, reads a
// topic with read_committed to its end, and follows topics while other clients write them.
//
// It is written from Kafka's protocol and does not use the project's own clients, so that a test does not check the
// software with itself.
package topiclog
