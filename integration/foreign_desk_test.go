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

// keepHeaders writes the headers that the libraries wrote where the unit tests of internal/dialects read them.
var keepHeaders = flag.Bool("foreign.update", false, "keep the headers of TestForeign as golden files of internal/dialects")

// foreignDesk is one library's topics, the program that fails on their records, and a replayer that looks at what
// it wrote. The topics share a prefix.
type foreignDesk struct {
	*pipe
	prefix string
	tails  map[string]*topiclog.Tail // by DLQ
}

// failed is the partition of every record that is to fail.
const failed = 2

func newForeignDesk(t *testing.T, topics ...string) *foreignDesk {
	t.Helper()
	p := newPipe(t, 3*time.Minute).ensure()
	d := &foreignDesk{pipe: p, prefix: p.set.ID, tails: map[string]*topiclog.Tail{}}
	for _, topic := range topics {
		must.Do(t, d.log.Create(d.ctx, d.topic(topic), 3, nil))
	}
	return d
}

// begin starts the library's program. When that ends by itself, there is nothing left to wait for.
func (d *foreignDesk) begin(j java, class string, args ...string) {
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

func (d *foreignDesk) topic(name string) string { return d.prefix + "." + name }

// fail sends a record that is to fail, with a header of its producer.
func (d *foreignDesk) fail(topic, key string, value []byte) *kgo.Record {
	d.t.Helper()
	return d.sendRecords(&kgo.Record{
		Topic: d.topic(topic), Partition: failed, Key: []byte(key), Value: value, Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("event-" + key)}},
	})[0]
}

// again sends a letter back as it lies there, with all that the library wrote: what a careless redrive does.
func (d *foreignDesk) again(topic string, letter *kgo.Record) *kgo.Record {
	d.t.Helper()
	return d.sendRecords(&kgo.Record{
		Topic: d.topic(topic), Partition: failed, Key: letter.Key, Value: letter.Value, Headers: letter.Headers,
	})[0]
}

// written waits until a DLQ has so many records with a key and gives the last of them.
func (d *foreignDesk) written(dlq, key string, n int) *kgo.Record {
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

// foreignLetter is what tests read of a line of list --details.
type foreignLetter struct {
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

// replayer runs a reading command over a DLQ and gives its lines.
func (d *foreignDesk) replayer(command, dlq string, args ...string) []string {
	d.t.Helper()
	r := d.run("replayer", append([]string{command, "-c", d.file, "--topic", d.topic(dlq), "--dialect", "auto", "-o", "ndjson"}, args...)...)
	must.That(d.t, r.Code == 0, "replayer %s: %s", command, r)
	return strings.Split(strings.TrimSpace(r.Stdout), "\n")
}

// letters are the letters of a DLQ as the replayer lists them, by where they lie.
func (d *foreignDesk) letters(dlq string) map[foreignPlace]foreignLetter {
	d.t.Helper()
	out := map[foreignPlace]foreignLetter{}
	for _, line := range d.replayer("list", dlq, "--details") {
		var l foreignLetter
		must.Do(d.t, json.Unmarshal([]byte(line), &l))
		out[l.DLQ] = l
	}
	return out
}

// death is a letter that a library has to write, and what the replayer has to say of it.
type death struct {
	dlq      string
	key      string
	nth      int         // which of the letters with this key, from 1
	of       *kgo.Record // whose bytes it has, and whose place is its source
	dialect  string
	error    foreignError
	attempts int
	golden   string // file for its headers
}

// wants waits for letters and compares what list and show say of each with what is wanted.
func (d *foreignDesk) wants(deaths ...death) {
	d.t.Helper()
	records := make([]*kgo.Record, len(deaths))
	listed := map[string]map[foreignPlace]foreignLetter{}
	for i, want := range deaths {
		records[i] = d.written(want.dlq, want.key, want.nth)
	}
	for i, want := range deaths {
		if listed[want.dlq] == nil {
			listed[want.dlq] = d.letters(want.dlq)
		}
		r := records[i]
		got := listed[want.dlq][foreignPlace{r.Topic, r.Partition, r.Offset}]
		d.compare(want, got)
		d.keep(want, r)
	}
	d.shows(deaths[0], records[0], listed[deaths[0].dlq])
}

func (d *foreignDesk) compare(want death, got foreignLetter) {
	d.t.Helper()
	w := foreignLetter{
		ID: got.ID, DLQ: got.DLQ, Dialect: want.dialect, Source: foreignPlace{want.of.Topic, want.of.Partition, want.of.Offset}, Error: want.error, Status: "pending",
		Attempts: want.attempts, SourceTime: want.of.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
	}
	w.Key, w.KeyBase64 = textOrBytes(want.of.Key)
	w.Value, w.ValueBase64 = textOrBytes(want.of.Value)
	expect.That(d.t, fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", w), "dead letter %d of %s in %s:\n got %+v\nwant %+v", want.nth, want.key, want.dlq, got, w)
}

func textOrBytes(b []byte) (string, []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// shows wants show to give every header of a letter as it lies there, and groups to count all letters of the DLQ.
func (d *foreignDesk) shows(want death, r *kgo.Record, listed map[foreignPlace]foreignLetter) {
	d.t.Helper()
	var detail struct {
		Headers []struct {
			Key, Value  string
			ValueBase64 []byte `json:"value_base64"`
		}
	}
	id := listed[foreignPlace{r.Topic, r.Partition, r.Offset}].ID
	must.Do(d.t, json.Unmarshal([]byte(d.replayer("show", want.dlq, id)[0]), &detail))
	must.That(d.t, len(detail.Headers) == len(r.Headers), "show gives %d headers of %d", len(detail.Headers), len(r.Headers))
	for i, h := range r.Headers {
		text, bytes := textOrBytes(h.Value)
		got := detail.Headers[i]
		expect.That(d.t, got.Key == h.Key && got.Value == text && string(got.ValueBase64) == string(bytes), "show gives header %d as %+v, it is %s=%q", i, got, h.Key, h.Value)
	}
	count := 0
	for _, line := range d.replayer("groups", want.dlq) {
		var group struct{ Count int }
		must.Do(d.t, json.Unmarshal([]byte(line), &group))
		count += group.Count
	}
	expect.That(d.t, count == len(listed), "groups count %d dead letters of %d", count, len(listed))
}

// goldenHeaders is a golden file of internal/dialects: the headers of a real letter, and which record died.
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

// goldenHeader has its value as text where a person can read it, else in base64; neither for null.
type goldenHeader struct {
	Key    string  `json:"key"`
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// keep writes the golden file of a letter when the flag asks for it.
func (d *foreignDesk) keep(want death, r *kgo.Record) {
	d.t.Helper()
	if !*keepHeaders || want.golden == "" {
		return
	}
	of := want.of
	g := goldenHeaders{Library: libraries()[want.dialect], Source: goldenSource{of.Topic, of.Partition, of.Offset, of.Timestamp.UTC()}}
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

// libraries names what writes each dialect here.
func libraries() map[string]string {
	return map[string]string{
		"spring": "Spring Kafka " + springKafka, "spring-retry": "Spring Kafka " + springKafka,
		"connect": "Kafka Connect " + foreignKafka, "streams": "Kafka Streams " + foreignKafka,
	}
}
