// Package topiclog is a test's own hand in Kafka: it makes topics with names of
// their own, produces records, reads a topic with read_committed to its end, and
// follows topics while something else writes them.
//
// It is written from Kafka's protocol and not from the project's own clients, so
// that a test does not check the software with the software.
package topiclog
