package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// updateGoldens makes the tests write the libraries' headers as golden files for the unit tests of internal/dialects.
var updateGoldens = flag.Bool("foreign.update", false, "keep the headers of TestForeign as golden files of internal/dialects")

// foreignDLQ has the topics of one library, the program that fails on their records, and a replayer that reads the
// library's dead letters. The topics share a prefix.
type foreignDLQ struct {
	*pipe
	prefix string
	tails  map[string]*topiclog.Tail // by DLQ
}

// failed is the partition of every record that must fail.
const failed = 2

func newForeignDLQ(t *testing.T, topics ...string) *foreignDLQ {
	t.Helper()
	p := newPipe(t, 3*time.Minute).ensure()
	d := &foreignDLQ{pipe: p, prefix: p.set.ID, tails: map[string]*topiclog.Tail{}}
	for _, topic := range topics {
		must.Do(t, d.log.Create(d.ctx, d.topic(topic), 3, nil))
	}
	return d
}

// startLibrary starts the library's program. If the program exits on its own, all waits of the test are cancelled.
func (d *foreignDLQ) startLibrary(j java, class string, args ...string) {
	d.t.Helper()
	program := j.start(d.t, class, args...)
	ctx, cancel := context.WithCancelCause(d.ctx)
	d.t.Cleanup(func() { cancel(nil) })
	d.ctx = ctx
	go func() {
		select {
		case <-program.Done():
			cancel(fmt.Errorf("%s has ended", class))
		case <-ctx.Done():
		}
	}()
}

func (d *foreignDLQ) topic(name string) string { return d.prefix + "." + name }

// sendFailing sends a record that must fail, with a header of its producer.
func (d *foreignDLQ) sendFailing(topic, key string, value []byte) *kgo.Record {
	d.t.Helper()
	return d.sendRecords(&kgo.Record{
		Topic: d.topic(topic), Partition: failed, Key: []byte(key), Value: value, Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("event-" + key)}},
	})[0]
}

// redrive sends a dead letter unchanged, with all headers of the library, as a careless redrive does.
func (d *foreignDLQ) redrive(topic string, deadLetter *kgo.Record) *kgo.Record {
	d.t.Helper()
	return d.sendRecords(&kgo.Record{
		Topic: d.topic(topic), Partition: failed, Key: deadLetter.Key, Value: deadLetter.Value, Headers: deadLetter.Headers,
	})[0]
}

// waitForDeadLetter waits until a DLQ has n records with a key, and returns the nth.
func (d *foreignDLQ) waitForDeadLetter(dlq, key string, n int) *kgo.Record {
	d.t.Helper()
	if d.tails[dlq] == nil {
		d.tails[dlq] = d.log.Tail(d.t, d.topic(dlq))
	}
	var found []*kgo.Record
	d.tails[dlq].Until(d.ctx, d.t, fmt.Sprintf("dead letter %d of %s in %s", n, key, dlq), func(seen []*kgo.Record) bool {
		found = slices.DeleteFunc(seen, func(r *kgo.Record) bool { return string(r.Key) != key })
		return len(found) >= n
	})
	return found[n-1]
}

// listedDeadLetter has the fields of a line of list --details that tests read.
type listedDeadLetter struct {
	ID, Dialect string
	DLQ, Source foreignPlace
	Error       foreignError
	Status      string
	Attempts    int
	SourceTime  string `json:"source_timestamp"`
	Key         string
	KeyBase64   []byte `json:"key_base64"`
	Value       string
	ValueBase64 []byte `json:"value_base64"`
	Problems    []string
}

type foreignPlace struct {
	Topic     string
	Partition int32
	Offset    int64
}

type foreignError struct {
	Class, Code, Stage, Message string
	CauseClass                  string `json:"cause_class"`
}

// replayer runs a reading command on a DLQ and returns its output lines.
func (d *foreignDLQ) replayer(command, dlq string, args ...string) []string {
	d.t.Helper()
	r := d.run("replayer", append([]string{command, "-c", d.file, "--topic", d.topic(dlq), "--dialect", "auto", "-o", "ndjson"}, args...)...)
	must.That(d.t, r.Code == 0, "replayer %s: %s", command, r)
	return strings.Split(strings.TrimSpace(r.Stdout), "\n")
}

// listDeadLetters returns the dead letters of a DLQ as the replayer lists them, by position.
func (d *foreignDLQ) listDeadLetters(dlq string) map[foreignPlace]listedDeadLetter {
	d.t.Helper()
	out := map[foreignPlace]listedDeadLetter{}
	for _, line := range d.replayer("list", dlq, "--details") {
		var l listedDeadLetter
		must.Do(d.t, json.Unmarshal([]byte(line), &l))
		out[l.DLQ] = l
	}
	return out
}

// wantedDeadLetter is a dead letter that a library must write, and the values that the replayer must read from it.
type wantedDeadLetter struct {
	dlq      string
	key      string
	nth      int         // which dead letter of this key, from 1
	source   *kgo.Record // the failed record
	dialect  string
	error    foreignError
	attempts int
	golden   string // name of the golden file for its headers
}

// wantDeadLetters waits for dead letters, and checks how list and show describe each of them.
func (d *foreignDLQ) wantDeadLetters(deaths ...wantedDeadLetter) {
	d.t.Helper()
	records := make([]*kgo.Record, len(deaths))
	listed := map[string]map[foreignPlace]listedDeadLetter{}
	for i, want := range deaths {
		records[i] = d.waitForDeadLetter(want.dlq, want.key, want.nth)
	}
	for i, want := range deaths {
		if listed[want.dlq] == nil {
			listed[want.dlq] = d.listDeadLetters(want.dlq)
		}
		r := records[i]
		got := listed[want.dlq][foreignPlace{r.Topic, r.Partition, r.Offset}]
		d.compareListed(want, got)
		d.writeGolden(want, r)
	}
	d.wantShown(deaths[0], records[0], listed[deaths[0].dlq])
}

func (d *foreignDLQ) compareListed(want wantedDeadLetter, got listedDeadLetter) {
	d.t.Helper()
	w := listedDeadLetter{
		ID: got.ID, DLQ: got.DLQ, Dialect: want.dialect, Source: foreignPlace{want.source.Topic, want.source.Partition, want.source.Offset}, Error: want.error, Status: "pending",
		Attempts: want.attempts, SourceTime: want.source.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
	}
	w.Key, w.KeyBase64 = textOrBytes(want.source.Key)
	w.Value, w.ValueBase64 = textOrBytes(want.source.Value)
	expect.That(d.t, fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", w), "dead letter %d of %s in %s:\n got %+v\nwant %+v", want.nth, want.key, want.dlq, got, w)
}

func textOrBytes(b []byte) (string, []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// wantShown checks that show prints every header of a dead letter unchanged, and that groups counts all dead letters of
// the DLQ.
func (d *foreignDLQ) wantShown(want wantedDeadLetter, r *kgo.Record, listed map[foreignPlace]listedDeadLetter) {
	d.t.Helper()
	var detail struct {
		Headers []struct {
			Key, Value  string
			ValueBase64 []byte `json:"value_base64"`
		}
	}
	id := listed[foreignPlace{r.Topic, r.Partition, r.Offset}].ID
	must.Do(d.t, json.Unmarshal([]byte(d.replayer("show", want.dlq, id)[0]), &detail))
	must.That(d.t, len(detail.Headers) == len(r.Headers), "show prints %d of %d headers", len(detail.Headers), len(r.Headers))
	for i, h := range r.Headers {
		text, bytes := textOrBytes(h.Value)
		got := detail.Headers[i]
		expect.That(d.t, got.Key == h.Key && got.Value == text && string(got.ValueBase64) == string(bytes), "show prints header %d as %+v, want %s=%q", i, got, h.Key, h.Value)
	}
	count := 0
	for _, line := range d.replayer("groups", want.dlq) {
		var group struct{ Count int }
		must.Do(d.t, json.Unmarshal([]byte(line), &group))
		count += group.Count
	}
	expect.That(d.t, count == len(listed), "groups count %d of %d dead letters", count, len(listed))
}

// goldenHeaders is a golden file of internal/dialects: the headers of a real dead letter, and its source.
type goldenHeaders struct {
	Library string         `json:"library"`
	Source  goldenSource   `json:"source"`
	Headers []goldenHeader `json:"headers"`
}

type goldenSource struct {
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"`
	Timestamp time.Time `json:"timestamp"`
}

// goldenHeader has a printable value as text and any other value in base64. A null value has neither.
type goldenHeader struct {
	Key    string  `json:"key"`
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// writeGolden writes the golden file of a dead letter if the flag is set.
func (d *foreignDLQ) writeGolden(want wantedDeadLetter, r *kgo.Record) {
	d.t.Helper()
	if !*updateGoldens || want.golden == "" {
		return
	}
	source := want.source
	g := goldenHeaders{Library: libraries()[want.dialect], Source: goldenSource{source.Topic, source.Partition, source.Offset, source.Timestamp.UTC()}}
	for _, h := range r.Headers {
		header := goldenHeader{Key: h.Key}
		text, inBase64 := string(h.Value), base64.StdEncoding.EncodeToString(h.Value)
		switch {
		case h.Value == nil:
		case utf8.ValidString(text) && strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) && !unicode.IsSpace(c) }) < 0:
			header.Text = &text
		default:
			header.Base64 = &inBase64
		}
		g.Headers = append(g.Headers, header)
	}
	text := must.Get(json.MarshalIndent(g, "", "  "))(d.t)
	file := filepath.Join("..", "internal", "dialects", "testdata", want.golden+".json")
	must.Do(d.t, os.WriteFile(file, append(text, '\n'), 0o644))
}

// libraries returns the library that writes each dialect in these tests.
func libraries() map[string]string {
	return map[string]string{
		"spring": "Spring Kafka " + springKafka, "spring-retry": "Spring Kafka " + springKafka,
		"connect": "Kafka Connect " + foreignKafka, "streams": "Kafka Streams " + foreignKafka,
	}
}
