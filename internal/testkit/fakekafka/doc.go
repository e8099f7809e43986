// Package fakekafka starts Kafka's embedded fake for one test, and clients of it. Both end with the test. Where a real broker is to be had
// instead, see package broker.
package fakekafka
