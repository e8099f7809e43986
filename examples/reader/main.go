// Command reader prints the records of a topic that are committed, each as its key, a tab and its value, and ends. It
// is an example to copy: a reader of a pipeline's output must read committed records only, because Switchback writes in
// transactions and those that are aborted stay in the topic. It finds the end of a topic that is not compacted.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// reachTimeout is how long brokers may take to answer at all.
const reachTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run prints the topic and returns the exit code: 0 done, 1 failed, 2 wrong use.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("reader", flag.ContinueOnError)
	flags.SetOutput(stderr)
	brokers := flags.String("brokers", "127.0.0.1:9092", "brokers, host:port, comma-separated")
	topic := flags.String("topic", "", "topic to read, from its beginning to its present end")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *topic == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "reader: name the topic with -topic, and nothing else")
		return 2
	}
	out := bufio.NewWriter(stdout)
	err := read(ctx, strings.Split(*brokers, ","), *topic, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(stderr, "reader:", err)
		return 1
	}
	return 0
}

// read prints the records up to the offsets that are the ends of the partitions now.
func read(ctx context.Context, brokers []string, topic string, out io.Writer) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords()) // the last offset of a partition is that of a transaction's marker
	if err != nil {
		return err
	}
	defer client.Close()
	left, err := ends(ctx, kadm.NewClient(client), topic)
	if err != nil {
		return fmt.Errorf("topic %s at %s: %w", topic, strings.Join(brokers, ","), err)
	}
	for len(left) > 0 {
		some, cancel := context.WithTimeout(ctx, reachTimeout)
		fetches := client.PollFetches(some)
		cancel()
		switch err := fetches.Err(); {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // retention may have deleted the rest
			if err := withoutDeleted(ctx, kadm.NewClient(client), topic, left); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		for _, r := range fetches.Records() {
			end, unfinished := left[r.Partition]
			if !unfinished {
				continue
			}
			if r.Offset >= end-1 {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() || r.Offset >= end {
				continue
			}
			if _, err := fmt.Fprintf(out, "%s\t%s\n", r.Key, r.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutDeleted removes the partitions whose records before the end have been deleted.
func withoutDeleted(ctx context.Context, admin *kadm.Client, topic string, left map[int32]int64) error {
	from, err := admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = from.Error()
	}
	for partition, end := range left {
		if start, known := from.Lookup(topic, partition); known && start.Offset >= end {
			delete(left, partition)
		}
	}
	return err
}

// ends returns the end of each partition that has records.
func ends(ctx context.Context, admin *kadm.Client, topic string) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	from, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	to, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(from.Error(), to.Error()); err != nil {
		return nil, err
	}
	left := map[int32]int64{}
	for partition, end := range to[topic] {
		if start := from[topic][partition]; start.Offset < end.Offset {
			left[partition] = end.Offset
		}
	}
	return left, nil
}
