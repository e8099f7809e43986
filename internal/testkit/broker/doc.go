// Package broker gives tests a Kafka broker: the best one that this machine can
// have without a surprise, and it says which one and why.
//
// The order is: the brokers of KAFKA_BROKERS; a container, where a Docker engine
// answers; Apache Kafka itself from Maven Central's jars, where Java is; else
// kfake in the test's own process. A plain `go test` downloads nothing: an image
// or jars that are not on the machine yet count as absent.
//
// SWITCHBACK_TEST_BROKER=kafka demands a real broker: it may download, and when
// none can be had it is an error, never a fall-back. SWITCHBACK_TEST_BROKER=kfake
// demands the one in the process. SWITCHBACK_KAFKA_IMAGE names another image.
//
// kfake ends transactions at once and never fences as a broker does, so claims on
// crashes count only where Broker.Real reports true.
package broker
