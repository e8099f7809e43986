// Command payments books payments as a listener of Spring Kafka does, without a JVM. It accepts PENDING, but the producer still sends OPEN: each of these payments goes to the DLQ with the headers that Spring writes.
//
//	payments BROKERS give-up N   sends N payments, gives all of them up, and ends
//	payments BROKERS book N      books what comes back, and ends after N
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const topic, dlq, booked = "payments", "payments-dlt", "payments-booked"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "payments:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 || args[1] != "give-up" && args[1] != "book" {
		return fmt.Errorf("want BROKERS, give-up or book, and a number, not %q", args)
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of payments: want at least 1", args[2])
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(args[0], ",")...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(topic), kgo.DisableAutoCommit(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if args[1] == "give-up" {
		if err := send(ctx, client, n); err != nil {
			return err
		}
	}
	return listen(ctx, client, args[1], n)
}

// send makes the topics and sends payments whose status has been renamed.
func send(ctx context.Context, client *kgo.Client, n int) error {
	answer, err := kadm.NewClient(client).CreateTopics(ctx, 3, 1, nil, topic, dlq, booked)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	for _, made := range answer.Sorted() {
		if made.Err != nil {
			return fmt.Errorf("create topic %s: %w", made.Topic, made.Err)
		}
	}
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, "p-", i), Value: fmt.Appendf(nil, `{"id":"p-%d","cents":%d,"status":"OPEN"}`, i, 100+i)})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// listen handles payments until n were given up, or booked, and commits the handled ones.
func listen(ctx context.Context, client *kgo.Client, what string, n int) error {
	done := map[string]int{}
	for done[what] < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
		var out []*kgo.Record
		for _, r := range fetches.Records() {
			to, kind := handle(r)
			done[kind]++
			out = append(out, to)
		}
		if err := client.ProduceSync(ctx, out...).FirstErr(); err != nil {
			return fmt.Errorf("write the handled payments: %w", err)
		}
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return fmt.Errorf("commit the offsets of group %s: %w", topic, err)
		}
	}
	fmt.Printf("%d payments given up, %d booked\n", done["give-up"], done["book"])
	return nil
}

// handle books a payment, or builds the dead letter that Spring's DeadLetterPublishingRecoverer would write for it.
func handle(r *kgo.Record) (out *kgo.Record, kind string) {
	var payment struct{ Status string }
	if err := json.Unmarshal(r.Value, &payment); err == nil && (payment.Status == "PENDING" || payment.Status == "SETTLED") {
		return &kgo.Record{Topic: booked, Key: r.Key, Value: r.Value}, "book"
	}
	const wrapper = "org.springframework.kafka.listener.ListenerExecutionFailedException"
	cause := "java.lang.IllegalArgumentException: No enum constant payments.Payments.Status." + payment.Status
	text := func(name, value string) kgo.RecordHeader {
		return kgo.RecordHeader{Key: "kafka_dlt-" + name, Value: []byte(value)}
	}
	number := func(name string, value []byte) kgo.RecordHeader {
		return kgo.RecordHeader{Key: "kafka_dlt-" + name, Value: value}
	}
	return &kgo.Record{Topic: dlq, Key: r.Key, Value: r.Value, Headers: append(r.Headers,
		text("original-topic", r.Topic), number("original-partition", binary.BigEndian.AppendUint32(nil, uint32(r.Partition))), //nolint:gosec // as Java writes it
		number("original-offset", binary.BigEndian.AppendUint64(nil, uint64(r.Offset))),                   //nolint:gosec // likewise
		number("original-timestamp", binary.BigEndian.AppendUint64(nil, uint64(r.Timestamp.UnixMilli()))), //nolint:gosec // likewise
		text("original-consumer-group", topic), text("exception-fqcn", wrapper), text("exception-cause-fqcn", "java.lang.IllegalStateException"),
		text("exception-message", "Listener failed; the payment cannot be read"),
		text("exception-stacktrace", wrapper+": Listener failed\n\tat payments.Payments.book(Payments.java:80)\nCaused by: java.lang.IllegalStateException: the payment cannot be read\nCaused by: "+cause+"\n\t... 10 more\n"),
	)}, "give-up"
}
