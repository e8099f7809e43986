package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var update = flag.Bool("update", false, "write the golden files anew")

var start = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

const (
	square = `{"type":"Feature","id":"%s","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},"properties":{"name":"Größe"}}`
	bowTie = `{"type":"Feature","id":"%s","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]},"properties":{}}`
)

// desk is a broker with dead letters, a folder with a pipeline file, and a terminal or none.
type desk struct {
	t      *testing.T
	dir    string
	env    Env
	out    bytes.Buffer
	err    bytes.Buffer
	ran    string // the last command line
	writer *kgo.Client
	spring []kgo.RecordHeader // as Spring Kafka writes them
}

// newDesk makes the desk of a test, which runs beside others.
func newDesk(t *testing.T, terminal bool) *desk {
	t.Helper()
	t.Parallel()
	return anotherDesk(t, terminal)
}

// anotherDesk makes a desk with a cluster of its own id, since the files of indexes are named for it.
func anotherDesk(t *testing.T, terminal bool) *desk {
	t.Helper()
	broker := fakekafka.Start(t, kfake.ClusterID(rand.Text()), kfake.SeedTopics(2, "features", "features.out", "features.dlq", "features.dlq-status", "features.audit", "features.state", "features.ledger"), kfake.SeedTopics(1, "features.control"))
	writer := fakekafka.Client(t, broker, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	d := &desk{t: t, dir: t.TempDir(), writer: writer}
	d.writePipeline(broker.ListenAddrs())
	d.env = Env{KafkaOpts: []kgo.Opt{kgo.DisableClientMetrics()}, Out: &d.out, Err: &d.err, Terminal: terminal, Width: 140, Version: cli.Build{Version: "v1.2.3", Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.26.8", Platform: "linux/amd64"}, Now: func() time.Time { return start }}
	return d
}

func (d *desk) writePipeline(brokers []string) {
	d.t.Helper()
	text := fmt.Sprintf(`pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
`, strings.Join(brokers, ", "))
	d.write("pipeline.yaml", []byte(text))
}

// write writes a file of the desk's folder.
func (d *desk) write(name string, text []byte) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(d.file(name), text, 0o600))
}

// file is the path of a file in the desk's folder.
func (d *desk) file(name string) string { return filepath.Join(d.dir, name) }

// here are arguments with the paths of the files that they name, behind an @ or not. A file is known by its ending.
func (d *desk) here(args ...string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if name := strings.TrimPrefix(arg, "@"); slices.Contains([]string{".yaml", ".json", ".jsonl", ".plan", ".sqlite"}, filepath.Ext(name)) {
			args[i] = strings.TrimSuffix(arg, name) + d.dir + "/" + name
		}
	}
	return args
}

func (d *desk) brokers() []string { return d.writer.OptValue(kgo.SeedBrokers).([]string) }

// run executes a command line in the desk's folder, with a fresh output.
func (d *desk) run(args ...string) cli.Exit { return d.runIn(d.t.Context(), args...) }

func (d *desk) runIn(ctx context.Context, args ...string) cli.Exit {
	d.out.Reset()
	d.err.Reset()
	d.ran = strings.Join(args, " ")
	env := d.env
	env.ConfigFile = d.here(env.ConfigFile)[0]
	code := Run(ctx, env, d.here(args...))
	for _, b := range []*bytes.Buffer{&d.out, &d.err} {
		text := strings.ReplaceAll(b.String(), d.dir+"/", "")
		b.Reset()
		b.WriteString(text)
	}
	return code
}

// prints fails unless the last command wrote all parts to the standard output.
func (d *desk) prints(parts ...string) *desk {
	d.t.Helper()
	return d.has("stdout", d.out.String(), parts)
}

// says is prints for the standard error.
func (d *desk) says(parts ...string) *desk {
	d.t.Helper()
	return d.has("stderr", d.err.String(), parts)
}

// said is prints for both outputs.
func (d *desk) said(parts ...string) *desk {
	d.t.Helper()
	return d.has("outputs", d.out.String()+d.err.String(), parts)
}

func (d *desk) has(where, got string, parts []string) *desk {
	d.t.Helper()
	for _, part := range parts {
		expect.That(d.t, strings.Contains(got, part), "replayer %s: want %q\n%s: %s", d.ran, part, where, got)
	}
	return d
}

// counts fails unless a part occurs n times in what the last command wrote to the standard output.
func (d *desk) counts(n int, part string) *desk {
	d.t.Helper()
	expect.Equal(d.t, strings.Count(d.out.String(), part), n, "replayer", d.ran, "occurrences of", part, "in", &d.out)
	return d
}

// hides fails if the last command wrote one of the parts to any output.
func (d *desk) hides(parts ...string) *desk {
	d.t.Helper()
	got := d.out.String() + d.err.String()
	for _, part := range parts {
		expect.That(d.t, !strings.Contains(got, part), "replayer %s: there is %q in %s", d.ran, part, got)
	}
	return d
}

// each reads the lines of JSON that the last command printed.
func each[T any](d *desk) (all []T) {
	d.t.Helper()
	for line := range strings.Lines(d.out.String()) {
		var one T
		must.Do(d.t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

// fits fails unless each line that the last command printed is at most so many characters long.
func (d *desk) fits(width int) {
	d.t.Helper()
	for line := range strings.Lines(d.out.String()) {
		n := len([]rune(strings.TrimSuffix(line, "\n")))
		expect.That(d.t, n <= width && !strings.Contains(line, "\x1b"), "%s: %d characters of %d, or an escape: %q", d.ran, n, width, line)
	}
}

// decode reads the JSON that the last command printed.
func (d *desk) decode(into any) {
	d.t.Helper()
	must.Do(d.t, json.Unmarshal(d.out.Bytes(), into))
}

// want fails unless a command ends with the given code.
func (d *desk) want(code cli.Exit, args ...string) *desk {
	d.t.Helper()
	expect.Equal(d.t, d.run(args...), code, "replayer", strings.Join(args, " "), "stdout", &d.out, "stderr", &d.err, "exit")
	return d
}

// golden holds what was printed against a file: the standard output, then the standard error.
func (d *desk) golden(name string) {
	d.t.Helper()
	got := "---- stdout\n" + d.out.String() + "---- stderr\n" + d.err.String()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		must.Do(d.t, os.WriteFile(file, []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile(file))(d.t)
	expect.That(d.t, got == string(want), "%s differs (go test -update writes it anew)\n got %s\nwant %s", file, got, want)
}

// TestMain gives the commands caches and settings of their own. Most tests wait for brokers, so they need few processors.
func TestMain(m *testing.M) {
	testrun.Together(8)
	home, err := os.MkdirTemp("", "replayer-")
	for name, value := range map[string]string{"XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home, "ANNA": "anna-anna-anna-anna-anna"} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

func (d *desk) put(records ...*kgo.Record) {
	d.t.Helper()
	must.Do(d.t, d.writer.ProduceSync(d.t.Context(), records...).FirstErr())
}

func controlOf(partition int32, id, message string) header.Control {
	return header.Control{
		Attempt: 1, MaxAttempts: 5, FailedAt: start.Add(-time.Hour), SourceTimestamp: start.Add(-2 * time.Hour),
		ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate", ErrorMessage: message,
		Source: header.Position{Topic: "features", Partition: partition, Offset: 40}, HasSource: true,
		FeatureID: "P-" + id, BBox: "0,0,2,2", Pipeline: "features", DeadLetterID: id,
	}
}

func letter(partition int32, id, value, message string) *kgo.Record {
	c := controlOf(partition, id, message)
	c.ContentHash = idempotency.Of([]byte(value)).String()
	return &kgo.Record{
		Topic: "features.dlq", Partition: partition, Key: []byte(id), Value: []byte(value), Timestamp: start.Add(-time.Hour),
		Headers: c.AppendTo([]kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}),
	}
}

// many writes n letters that pass today.
func (d *desk) many(n int) *desk {
	for i := range n {
		id := fmt.Sprintf("0-%d-aaaaaaaa", 40+i)
		d.put(letter(0, id, fmt.Sprintf(square, id), "ring 3 crosses itself"))
	}
	return d
}

// fill writes the letters that most tests look at: one that passes today, its copy (the
// producer sent it twice, under one key), one that fails,
// bytes that are no text, and one of other software.
func (d *desk) fill() *desk {
	copied := letter(0, "0-39-bbbbbbbb", fmt.Sprintf(square, "a"), "ring 7 crosses itself")
	copied.Key = []byte("0-40-aaaaaaaa")
	d.put(
		letter(0, "0-40-aaaaaaaa", fmt.Sprintf(square, "a"), "ring 3 crosses itself"),
		copied,
		letter(1, "1-42-cccccccc", fmt.Sprintf(bowTie, "c"), "ring 1 crosses itself"),
		letter(0, "0-43-dddddddd", "\xff\xfe", "ring 2 crosses itself"),
		&kgo.Record{Topic: "features.dlq", Partition: 1, Value: []byte("from elsewhere"), Timestamp: start.Add(-2 * time.Hour)},
	)
	return d
}
