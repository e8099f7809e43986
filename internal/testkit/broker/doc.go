// Package broker provides a Kafka broker for tests: the most realistic one that is available without downloads. It
// prints which one was chosen and why.
//
// The order is: the brokers of KAFKA_BROKERS; a container, if a Docker engine answers; Apache Kafka from Maven Central's
// jars, if Java is installed; otherwise kfake in the test's own process. A plain `go test` downloads nothing: an image
// or jars that are not on the machine count as absent.
//
// SWITCHBACK_TEST_BROKER=kafka demands a real broker. It may download, and it is an error if none is available.
// SWITCHBACK_TEST_BROKER=kfake demands kfake. SWITCHBACK_KAFKA_IMAGE names another image.
//
// kfake ends transactions at once and does not fence as a broker does. Claims about crashes are only meaningful if
// Broker.Real returns true.
package broker
