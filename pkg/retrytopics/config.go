package retrytopics

import (
	"log/slog"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Config says what an Engine does. Brokers (or Client.Options with seed brokers), Source, Group and Handler must be given;
// all else has a default. New reports every fault of a Config at once.
type Config struct {
	Brokers []string // seed brokers, host:port
	Source  string   // topic to consume
	Group   string   // consumer group; its commits are the engine's memory
	Handler Handler
	// Outputs are the topics that the handler writes to. What they take is read, so that an output that does not fit is a dead
	// dead letter before anything is written. One that is not named here is found out by the broker's refusal.
	Outputs []string

	Retries Retries // when and where a transient failure is retried
	DLQ     string  // topic of the dead letters. Defaults to <Source>.dlq.
	// Unknown is what becomes of an error that classify does not know, such as errors.New("x"): classify.RetryBackoff or
	// classify.Permanent. What Retry, RetryAfter or Reject marked is known. Not to be given together with Retries.Classify, which
	// has classify.Options.Unknown instead. Defaults to classify.RetryBackoff.
	Unknown classify.Class

	Ordering Ordering
	Dedupe   Dedupe
	Delivery Delivery // Defaults to ExactlyOnce.

	Membership Membership   // what this instance is in its group
	Journal    Journal      // further records in the handler's transactions
	Hooks      Hooks        // functions that are told what happens
	Limits     Limits       // how much at once
	Timing     Timing       // how long
	Origin     Origin       // names in control headers, and which of these are believed
	Client     Client       // how Kafka is reached
	Logger     *slog.Logger // Defaults to a logger that discards.
}
