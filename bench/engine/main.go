package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// plan has the values of the flags.
type plan struct {
	brokers    []string
	events     int
	keys       int
	partitions int
	rounds     int
	batch      int
	rate       int
	profile    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/engine:", err)
		os.Exit(1)
	}
}

// run dispatches to a measurement. A process that was started as a contender reads its spec from the environment.
func run(ctx context.Context, args []string, out io.Writer) error {
	if text := os.Getenv(specVariable); text != "" {
		return contend(ctx, text, out)
	}
	measurements := map[string]func(*bench, context.Context) error{
		"speed": (*bench).speed, "lateness": (*bench).lateness, "pressure": (*bench).pressure, "quiet": (*bench).quiet,
	}
	const usage = "usage: engine speed|lateness|pressure|quiet [flags]; engine speed -h lists the flags"
	if len(args) == 0 || measurements[args[0]] == nil {
		return errors.New(usage)
	}
	p, err := flags(args)
	if err != nil {
		return err
	}
	b, err := newBench(p, out)
	if err != nil {
		return err
	}
	defer b.close()
	return measurements[args[0]](b, ctx)
}

func flags(args []string) (plan, error) {
	var p plan
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	brokers := set.String("brokers", os.Getenv("KAFKA_BROKERS"), "seed brokers, separated by commas; default from KAFKA_BROKERS")
	set.IntVar(&p.events, "events", 400_000, "events of a drain")
	set.IntVar(&p.keys, "keys", 100_000, "distinct keys among them")
	set.IntVar(&p.partitions, "partitions", 6, "partitions of every topic")
	set.IntVar(&p.rounds, "rounds", 3, "rounds; in each, every contender runs once")
	set.IntVar(&p.batch, "batch", 0, "largest number of records in a transaction of a loop; 0: the engine's average in the same round")
	set.IntVar(&p.rate, "rate", 20_000, "events per second of a paced load")
	set.StringVar(&p.profile, "profile", "", "write the contenders' CPU profiles into this directory")
	if err := set.Parse(args[1:]); err != nil {
		return p, err
	}
	if *brokers == "" {
		return p, errors.New("no broker: set -brokers host:port or KAFKA_BROKERS; it must be a real Kafka, because commits cost nothing on an imitation")
	}
	p.brokers = strings.Split(*brokers, ",")
	if p.events < 1 || p.keys < 1 || p.partitions < 1 || p.rounds < 1 || p.batch < 0 || p.rate < 1 {
		return p, errors.New("every number must be at least 1, -batch at least 0")
	}
	return p, nil
}
