// Package fakekafka starts Kafka's embedded fake for one test, and clients for it. Both end with the test. For a real
// broker, see package broker.
package fakekafka
