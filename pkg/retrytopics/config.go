package retrytopics

import (
	"log/slog"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Config configures an engine. Brokers (or Client.Options with seed brokers), Source, Group and Handler are mandatory;
// everything else has a default. Complete, and so engine.New, reports every fault of a Config at once.
type Config struct {
	Brokers []string // seed brokers, host:port
	Source  string   // topic to consume
	Group   string   // consumer group; its commits are the engine's memory
	Handler Handler
	// Outputs are the topics that the handler writes to. The engine reads their limits, so that an output that does not
	// fit becomes a dead letter before anything is written. For other topics the broker's refusal has the same effect.
	Outputs []string

	Retries Retries // when and where a transient failure is retried
	DLQ     string  // topic of the dead letters. Defaults to <Source>.dlq.
	// Unknown is the class of errors that package classify does not know, such as errors.New("x"): classify.RetryBackoff
	// or classify.Permanent. Errors marked by Retry, RetryAfter or Reject are known. It excludes Retries.Classify, which
	// has classify.Options.Unknown instead. Defaults to classify.RetryBackoff.
	Unknown classify.Class

	Ordering Ordering
	Dedupe   Dedupe
	Delivery Delivery // Defaults to ExactlyOnce.

	Membership Membership   // this instance in its consumer group
	Journal    Journal      // further records in the handler's transactions
	Hooks      Hooks        // functions for metrics and logs
	Limits     Limits       // limits of concurrency and memory
	Timing     Timing       // time limits
	Origin     Origin       // names in control headers, and which of them are trusted
	Client     Client       // connection to Kafka
	Logger     *slog.Logger // Defaults to a logger that discards.

	complete bool // every field has its value
}

// TransactionalID returns an ID that is stable over restarts of an instance.
func (c *Config) TransactionalID() string { return c.Group + "-" + c.Membership.Instance }
