package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/examples"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	brokers  []string
	topic    string
	file     string
	key      string
	lines    bool    // send each line as it is
	unread   *unread // with lines
	form     form
	registry string
	n        int
}

// run publishes and returns the exit code: 0 done, 1 failed, 2 wrong use.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	events, closeFile, err := o.open(stdin)
	if err != nil {
		fmt.Fprintln(stderr, "producer:", err)
		return 1
	}
	defer closeFile()
	sent, err := publish(ctx, o, events)
	fmt.Fprintf(stdout, "published %d feature events to %s\n", sent, o.topic)
	if o.unread.lines > 0 {
		fmt.Fprintln(stderr, "producer:", o.unread)
	}
	if err != nil {
		fmt.Fprintln(stderr, "producer:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{unread: &unread{}}
	flags := flag.NewFlagSet("producer", flag.ContinueOnError)
	flags.SetOutput(stderr)
	brokers := flags.String("brokers", "127.0.0.1:9092", "brokers, host:port, comma-separated")
	flags.StringVar(&o.topic, "topic", "features", "topic, which must exist (consumer topics ensure creates it)")
	flags.StringVar(&o.file, "file", "", "one GeoJSON Feature a line, or a FeatureCollection; - is standard input; default: the earthquakes of the examples")
	flags.StringVar(&o.key, "key", "", "property whose value is the key of the feature's record; default: the feature's id")
	flags.BoolVar(&o.lines, "lines", false, "send each line of -file as it is, also one that is no feature; a line that shows no key gets line-N and the beginning of its SHA-256")
	word := flags.String("format", string(formGeoJSON), "geojson, cloudevents (binary mode) or avro, as the published schemas describe them")
	flags.StringVar(&o.registry, "registry", "", "URL of a schema registry, for -format avro; without it Avro is written in single-object encoding")
	flags.IntVar(&o.n, "n", 0, "publish at most this many events; 0 is all")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.brokers, o.form = strings.Split(*brokers, ","), form(*word)
	if !slices.Contains(forms(), o.form) {
		fmt.Fprintf(stderr, "producer: -format %q is unknown; write one of %v\n", *word, forms())
		return o, errors.New("unknown format")
	}
	if o.lines && (o.file == "" || o.form != formGeoJSON) {
		fmt.Fprintln(stderr, "producer: -lines needs -file, and -format geojson: lines are sent as they are")
		return o, errors.New("-lines without lines")
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "producer: unknown argument %q; features are read with -file\n", flags.Arg(0))
		return o, errors.New("unknown argument")
	}
	return o, nil
}

// open returns the events of the chosen input.
func (o options) open(stdin io.Reader) (iter.Seq2[Event, error], func(), error) {
	switch o.file {
	case "":
		return earthquakes(), func() {}, nil
	case "-":
		return o.read(stdin), func() {}, nil
	}
	file, err := os.Open(o.file)
	if err != nil {
		return nil, nil, err
	}
	return o.read(file), func() { _ = file.Close() }, nil
}

func (o options) read(r io.Reader) iter.Seq2[Event, error] {
	if o.lines {
		return readLines(r, o.key, o.unread)
	}
	return readEvents(r, o.key)
}

func earthquakes() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for f, err := range examples.Earthquakes() {
			if !yield(Event{Key: f.ID, Value: f.JSON}, err) {
				return
			}
		}
	}
}

// publish sends the events and waits until the brokers have all of them. It returns how many they have, which after an
// error is how far it came.
func publish(ctx context.Context, o options, events iter.Seq2[Event, error]) (int, error) {
	// The client's defaults are the safe ones: every in-sync replica acknowledges, and a retried batch is stored once.
	client, err := kgo.NewClient(kgo.SeedBrokers(o.brokers...))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if err := reachable(ctx, client, o); err != nil {
		return 0, err
	}
	write, err := o.writer(ctx)
	if err != nil {
		return 0, err
	}
	return send(ctx, client, o.n, write, events)
}

// reachable says at once what would else be retried in silence.
func reachable(ctx context.Context, client *kgo.Client, o options) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		return fmt.Errorf("no broker answers at %s: %w; name others with -brokers", strings.Join(o.brokers, ","), err)
	}
	return nil
}
