package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	brokers := flag.String("brokers", "127.0.0.1:9092", "seed brokers, comma separated")
	deadLetters := flag.Int("dead-letters", 1_000_000, "dead letters to put back")
	partitions := flag.Int("partitions", 6, "of every topic")
	foreign := flag.Bool("foreign", false, "the dead letters of Spring Kafka, without a pipeline file")
	bare := flag.Bool("bare", true, "measure the bare producer too; without it, only memory and time")
	binary := flag.String("replayer", "", "the replayer's binary (default: built from this tree)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	b := bench{brokers: strings.Split(*brokers, ","), deadLetters: *deadLetters, partitions: int32(*partitions), binary: *binary, compare: *bare, foreign: *foreign}
	err := b.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/replayer:", err)
		os.Exit(1)
	}
}

// rate formats dead letters per second.
func rate(n int, took time.Duration) string {
	return fmt.Sprintf("%8.0f dead letters/s (%s)", float64(n)/took.Seconds(), took.Round(10*time.Millisecond))
}
