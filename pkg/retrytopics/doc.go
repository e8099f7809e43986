// Package retrytopics runs a handler over a Kafka topic with non-blocking, tiered retry topics and a dead letter queue,
// exactly once.
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
// A [Handler] gets one record at a time and gives back what to produce. Four names are enough; all else of [Config] has a
// default:
//
//	engine, err := retrytopics.New(retrytopics.Config{
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
//	err = engine.CreateTopics(ctx) // orders.retry-2s, .retry-8s, .retry-60s, orders.dlq and the engine's memory
//	err = engine.Run(ctx)          // until ctx ends; RunUntilEnd stops at the end of the topic
//
// # Say what an error asks for
//
//	return retrytopics.Result{}, err                                 // the engine decides, by the error's type
//	return retrytopics.Result{}, retrytopics.Retry(err)              // again later, as the policy says
//	return retrytopics.Result{}, retrytopics.RetryAfter(time.Minute, err) // again later, not before a minute has passed
//	return retrytopics.Result{}, retrytopics.Reject(err)             // dead letter, at once
//
// Package classify knows timeouts, broken connections, HTTP statuses, SQLSTATEs, Kafka's codes and more. An error that it does
// not know, such as errors.New("x"), is retried; Config.Unknown changes that. When the attempts are used up (five, see
// [policy.Policy]), the record is a dead letter. The marks wrap: errors.Is and errors.As see the cause.
//
// # Then
//
//   - Order of a key: by default a record that is retried never takes effect over a newer one of its key (OrderLatestWins).
//     OrderStrict lets the newer ones wait, OrderNone compares nothing. See the example of [Ordering].
//   - Outbox: outputs, [Journal] records and the offset commit in one transaction. See the example of [Journal].
//   - Metrics: [Hooks].OnCommit and [Engine.Stats]. See the example of [Hooks].
//   - Tests: a handler is a function; [policy.Decide] says what becomes of its error. See the example of [Handler]. With a broker in the
//     test's process (kfake) and [Engine.RunUntilEnd] the whole engine runs in a test, as in the example of [Engine].
//
// # What it guarantees
//
//   - Conservation: every committed source record is in exactly one place: in the outputs, waiting in a tier, in the DLQ,
//     or closed by the handler with a recorded outcome.
//   - Exactly once inside Kafka: outputs, retry record, dead letter, journal and offset of one record commit in one
//     transaction. Nothing that a reader with isolation level read_committed sees is doubled by a crash, a rebalance or a
//     restart of the broker.
//   - Never early: no attempt begins before the time in switchback-due, by the clock of the instance that makes it.
//   - One key at a time: records of a key are handled one after another. What happens when one of them waits is
//     Ordering's choice: later ones overtake it, overtake it without ever being undone by it, or wait behind it.
//   - An outage is not a data error: a handler that returns an UnavailableError spends no attempt, and nothing goes to the DLQ
//     because of it. Engine.Hold does the same for everything, until somebody calls Resume.
//   - A dead letter is byte-identical: key, value and the producer's headers are those of the source record; all context
//     is in control headers, as text.
//
// A handler may finish a record in parts (Result.Failed): those that failed permanently become dead letters of their own, those
// that failed transiently wait as one record, and the record is finished when each of its parts is.
//
// Less formally: handlers run side by side outside any transaction, so a slow one delays neither other keys nor the
// output's last stable offset. A short transaction then carries what has finished. Its commit says up to which offset
// everything is finished; what is finished beyond it is listed in the commit's metadata, and the next owner of the
// partition skips it.
//
// # What it does not do
//
// With Delivery AtLeastOnce, for clusters without transactions, a crash or a rebalance produces some records again.
//
// A handler may run more than once for a record: after a crash, a rebalance or an aborted transaction its attempt is
// made again. What a handler does outside Kafka must therefore be idempotent. The package knows nothing of what records
// contain, and it makes no outbound calls but to Kafka.
//
// # Partitions
//
// Partition p of the source and of every tier belong to one instance at a time, and a record keeps its partition number
// on its way through tiers and DLQ. So all these topics have the same number of partitions; Run refuses any other set and
// says how to correct it. CreateTopics makes a fitting one.
//
// # One attempt
//
//	taken ──▶ waiting (until due) ──▶ runnable ──▶ running ──▶ finished ──▶ in a transaction ──▶ committed
//	  ▲                                                                            │
//	  └──────────────── aborted, rebalanced: taken again from what is committed ◀──┘
//
// Decide, Surface and the codecs of headers and commit metadata are pure; the loop in session.go only acts.
package retrytopics
