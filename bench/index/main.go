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

	"github.com/switchback-geo/switchback/internal/index"
)

// partitions of both topics.
const partitions = 6

// options are the flags.
type options struct {
	brokers, place, profile string
	letters                 int
	states                  float64
}

func main() { os.Exit(parse()) }

// parse reads the flags and gives the exit code.
func parse() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.brokers, "brokers", "127.0.0.1:9092", "brokers, separated by commas")
	flag.StringVar(&o.place, "index", "", "file or postgres:// address (default: a file that is removed)")
	flag.IntVar(&o.letters, "letters", 1_000_000, "dead letters")
	flag.Float64Var(&o.states, "states", 0.1, "share of the letters that have a state record, from 0 to 1")
	flag.StringVar(&o.profile, "profile", "", "file for a CPU profile of indexing and answers")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		return 1
	}
	return 0
}

// figures are what is measured.
type figures struct {
	Letters       int                `json:"letters"`
	States        int                `json:"states"`
	Engine        index.Engine       `json:"engine"`
	IndexSeconds  float64            `json:"index_seconds"`
	IndexCPU      float64            `json:"index_processor_seconds"` // of all cores: what counts on a machine that others use
	AgainSeconds  float64            `json:"sync_without_news_seconds"`
	FileMiB       int64              `json:"file_mib,omitempty"`
	PeakRSSMiB    int64              `json:"peak_rss_mib"`
	Milliseconds  map[string]float64 `json:"answer_milliseconds"`
	Processors    int                `json:"processors"`
	LettersPerSec int                `json:"letters_per_second"`
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
	src := index.Source{DLQ: fmt.Sprintf("bench-index-%d.dlq", os.Getpid()), Status: fmt.Sprintf("bench-index-%d.dlq-status", os.Getpid())}
	admin := kadm.NewClient(cl)
	if _, err := admin.CreateTopics(ctx, partitions, 1, nil, src.DLQ, src.Status); err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_, _ = admin.DeleteTopics(clean, src.DLQ, src.Status) // they are this run's own
	}()
	states, err := fill(ctx, cl, src, o)
	if err != nil {
		return err
	}
	stopProfile, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	out, err := measure(ctx, cl, src, o.place)
	stopProfile()
	if err != nil {
		return err
	}
	out.Letters, out.States = o.letters, states
	out.LettersPerSec = int(float64(o.letters) / out.IndexSeconds)
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// measure indexes and asks.
func measure(ctx context.Context, cl *kgo.Client, src index.Source, place string) (figures, error) {
	store, err := index.Open(ctx, place)
	if err != nil {
		return figures{}, err
	}
	defer func() { _ = store.Close() }()
	out := figures{Engine: store.Engine(), Processors: runtime.GOMAXPROCS(0)}
	before, _ := spent()
	done, err := store.Sync(ctx, cl, src, nil)
	if err != nil {
		return out, err
	}
	after, peak := spent()
	out.IndexCPU, out.PeakRSSMiB = (after - before).Seconds(), peak
	out.IndexSeconds = done.Took.Seconds()
	if done, err = store.Sync(ctx, cl, src, nil); err != nil {
		return out, err
	}
	out.AgainSeconds = done.Took.Seconds()
	if info, err := os.Stat(place); err == nil {
		out.FileMiB = info.Size() >> 20
	}
	out.Milliseconds, err = ask(ctx, cl, store, src)
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
		_ = f.Close() // a profile that cannot be written shows when it is read
	}, nil
}
