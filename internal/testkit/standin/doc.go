// Package standin replaces the consumer in tests of the replayer: it reads the reinjected records and closes their dead
// letters, as the journal of internal/consumer does. The integration tests use the real consumer.
package standin
