// Package standin stands in for the consumer in tests of the replayer: it reads the records that were put back and closes their dead
// letters, as the journal of internal/consumer does. The real consumer is in the integration tests.
package standin
