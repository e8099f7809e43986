// Package retrytopics is what a program needs to know to run a handler over a Kafka topic with non-blocking, tiered retry
// topics and a dead letter queue, exactly once. Package engine runs it.
//
//	          ┌────────────────────── partition p ─────────────────────┐
//	source ──▶│ attempt ──▶ handled ───────────────────────────────────│──▶ outputs
//	          │    ▲  └───▶ transient ──▶ retry-2s, retry-8s, retry-60s │
//	          │    └─────────── due ◀──────────────┘                   │
//	          │       └───▶ permanent, row-level, exhausted ───────────│──▶ DLQ
//	          └─────────────────────────────────────────────────────────┘
//
// # Start
//
// A [Handler] gets one record at a time and returns the records to produce. Four fields of [Config] are mandatory; all
// others have a default:
//
//	e, err := engine.New(retrytopics.Config{
//		Brokers: []string{"localhost:9092"}, Source: "orders", Group: "billing",
//		Handler: func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
//			bill, err := bill(ctx, r.Value)
//			if err != nil {
//				return retrytopics.Result{}, err // retried, or a dead letter: see below
//			}
//			return retrytopics.Result{Outputs: []*kgo.Record{{Topic: "bills", Key: r.Key, Value: bill}}}, nil
//		},
//	})
//	...
//	err = e.CreateTopics(ctx) // orders.retry-2s, .retry-8s, .retry-60s, orders.dlq and the engine's memory
//	err = e.Run(ctx)          // until ctx ends; RunUntilEnd stops at the end of the topic
//
// # What an error means
//
//	return retrytopics.Result{}, err                                 // the engine decides, by the error's type
//	return retrytopics.Result{}, retrytopics.Retry(err)              // again later, as the policy says
//	return retrytopics.Result{}, retrytopics.RetryAfter(time.Minute, err) // again later, not before a minute has passed
//	return retrytopics.Result{}, retrytopics.Reject(err)             // dead letter, at once
//
// Package classify knows timeouts, broken connections, HTTP statuses, SQLSTATEs, Kafka's codes and more. An error that it
// does not know, such as errors.New("x"), is retried; Config.Unknown changes that. When the attempts are used up (five, see
// [policy.Policy]), the record becomes a dead letter. The marks wrap the error: errors.Is and errors.As find the cause.
//
// # Then
//
//   - Order of a key: by default a retried record never takes effect after a newer one of its key ([OrderLatestWins]). With
//     [OrderStrict] the newer ones wait; [OrderNone] compares nothing. See the example of [Ordering].
//   - Outbox: outputs, [Journal] records and the offset commit in one transaction. See the example of [Journal].
//   - Metrics: [Hooks].OnCommit and [Stats]. See the example of [Hooks].
//   - Tests: a handler is a function, and [policy.Decide] returns what its error leads to. See the example of [Handler].
//     With a broker in the process of the test (kfake) and RunUntilEnd, a test runs the whole engine, as in the example of
//     this package.
//
// # What it guarantees
//
//   - Conservation: every committed source record is in exactly one place: in the outputs, waiting in a tier, in the DLQ,
//     or closed by the handler with a recorded outcome.
//   - Exactly once inside Kafka: outputs, retry record, dead letter, journal and offset of one record commit in one
//     transaction. A reader with isolation level read_committed sees nothing twice, whether an instance crashes, the group
//     rebalances or a broker restarts.
//   - Never early: no attempt begins before the time in switchback-due, by the clock of the instance that makes it.
//   - One key at a time: records of a key are handled one after another. [Ordering] sets what happens while one of them
//     waits: later ones overtake it, overtake it without ever being undone by it, or wait behind it.
//   - An outage is not a data error: a handler that returns an [UnavailableError] uses no attempt, and no record goes to
//     the DLQ because of it. Pause of the engine does the same for all records until Resume.
//   - A dead letter is byte-identical: key, value and the producer's headers are those of the source record. All context
//     is in control headers, as text.
//
// A handler may finish a record in parts (Result.Failed). Each part that failed permanently becomes a separate dead
// letter. The parts that failed transiently wait together as one record. The record is finished when all of its parts are.
//
// Handlers run concurrently outside of any transaction, so a slow one delays neither other keys nor the last stable
// offset of the output. A short transaction then commits what has finished. Its offset is the one up to which everything
// is finished. The metadata of the commit lists what is finished beyond it, and the next owner of the partition skips that.
//
// # What it does not do
//
// With [AtLeastOnce], for clusters without transactions, a crash or a rebalance produces some records again.
//
// A handler may run more than once for a record: after a crash, a rebalance or an aborted transaction, the attempt is
// repeated. Its effects outside Kafka must therefore be idempotent. The package does not interpret the content of records,
// and connects to nothing but Kafka.
//
// # Partitions
//
// Partition p of the source and of every tier belong to one instance at a time, and a record keeps its partition number
// in tiers and DLQ. So all these topics must have the same number of partitions. Run refuses other topics and says how to
// correct them; CreateTopics creates fitting ones.
//
// # One attempt
//
//	fetched ──▶ waiting (until due) ──▶ runnable ──▶ running ──▶ finished ──▶ in a transaction ──▶ committed
//	  ▲                                                                            │
//	  └──────────────── aborted or rebalanced: read again from the last commit ◀──┘
package retrytopics
