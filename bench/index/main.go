package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// partitions is the number of partitions of both topics.
const partitions = 6

// options are the flags.
type options struct {
	brokers, place, profile string
	deadLetters             int
	states                  float64
	span                    time.Duration
	ask                     bool
}

func main() { os.Exit(parse()) }

// parse parses the flags, runs the measurement and returns the exit code.
func parse() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.brokers, "brokers", "127.0.0.1:9092", "brokers, separated by commas")
	flag.StringVar(&o.place, "index", "", "file or postgres:// address (default: a file that is removed)")
	flag.IntVar(&o.deadLetters, "dead-letters", 1_000_000, "dead letters")
	flag.Float64Var(&o.states, "states", 0.1, "share of the dead letters that have a state record, from 0 to 1")
	flag.DurationVar(&o.span, "span", 30*24*time.Hour, "time over which the dead letters died, up to now")
	flag.BoolVar(&o.ask, "ask", true, "measure the queries; false only fills the index")
	flag.StringVar(&o.profile, "profile", "", "file for a CPU profile of indexing and answers")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		return 1
	}
	return 0
}

// figures are the results.
type figures struct {
	Letters       int             `json:"dead_letters"`
	States        int             `json:"states"`
	Engine        dlqindex.Engine `json:"engine"`
	IndexSeconds  float64         `json:"index_seconds"`
	IndexCPU      float64         `json:"index_processor_seconds"` // of all cores, which is the meaningful figure on a shared machine
	AgainSeconds  float64         `json:"sync_without_news_seconds"`
	FileMiB       int64           `json:"file_mib,omitempty"`
	PeakRSSMiB    int64           `json:"peak_rss_mib"`
	Processors    int             `json:"processors"`
	LettersPerSec int             `json:"dead_letters_per_second"`
	Answers       []answer        `json:"answers"`
}

func run(ctx context.Context, o options) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(o.brokers, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	if o.place == "" {
		dir, err := os.MkdirTemp("", "switchback-bench-index-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.place = filepath.Join(dir, "letters.sqlite")
	}
	src := dlqindex.Source{DLQ: fmt.Sprintf("bench-index-%d.dlq", os.Getpid()), Status: fmt.Sprintf("bench-index-%d.dlq-status", os.Getpid())}
	admin := kadm.NewClient(cl)
	ever := "-1" // the dead letters are older than the broker's default retention
	if _, err := admin.CreateTopics(ctx, partitions, 1, map[string]*string{"retention.ms": &ever}, src.DLQ, src.Status); err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_, _ = admin.DeleteTopics(clean, src.DLQ, src.Status) // these belong to this run
	}()
	begin := time.Now().UTC().Add(-o.span).Truncate(time.Millisecond)
	states, err := fill(ctx, cl, src, o, begin)
	if err != nil {
		return err
	}
	stopProfile, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	out, err := measure(ctx, cl, src, o, begin)
	stopProfile()
	if err != nil {
		return err
	}
	out.Letters, out.States = o.deadLetters, states
	out.LettersPerSec = int(float64(o.deadLetters) / out.IndexSeconds)
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// measure measures indexing and the questions.
func measure(ctx context.Context, cl *kgo.Client, src dlqindex.Source, o options, begin time.Time) (figures, error) {
	cfg := &config.Config{}
	cfg.Topics.DLQ, cfg.Topics.DLQStatus = src.DLQ, src.Status
	index, err := dlqindex.OpenIndex(ctx, cl, cfg, dlqindex.Options{Place: o.place})
	if err != nil {
		return figures{}, err
	}
	defer func() { _ = index.Close() }()
	out := figures{Engine: index.Engine(), Processors: runtime.GOMAXPROCS(0)}
	before, _ := spent()
	done, err := index.Sync(ctx)
	if err != nil {
		return out, err
	}
	after, peak := spent()
	out.IndexCPU, out.PeakRSSMiB = (after - before).Seconds(), peak
	out.IndexSeconds = done.Took.Seconds()
	if done, err = index.Sync(ctx); err != nil {
		return out, err
	}
	out.AgainSeconds = done.Took.Seconds()
	if info, err := os.Stat(o.place); err == nil {
		out.FileMiB = info.Size() >> 20
	}
	if !o.ask {
		return out, nil
	}
	out.Answers, err = ask(ctx, index, o, begin)
	return out, err
}

func startProfile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a truncated profile shows when it is read
	}, nil
}
