package integration

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A broker compares the compressed size with max.message.bytes. A record that fits into the source topic when compressed
// must fit into all topics, and the memory for small compressed records must be bounded.

// ensureDefault creates the source topic with the broker's default size limit, and all others by `topics ensure`.
func (p *pipe) ensureDefault() *pipe {
	p.t.Helper()
	must.Do(p.t, p.log.Create(p.ctx, p.topics.Source, int32(p.set.Partitions), map[string]string{"max.message.bytes": strconv.Itoa(1 << 20)}))
	p.runConsumer("topics", "ensure")
	return p
}

// compressingProducer returns a producer without a size limit that compresses its records.
func (p *pipe) compressingProducer(codec kgo.CompressionCodec) *kgo.Client {
	p.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.set.Brokers...), kgo.DefaultProduceTopic(p.topics.Source), kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(512<<20), kgo.BrokerMaxWriteBytes(1<<30), kgo.ProducerLinger(0))
	must.Do(p.t, err)
	p.t.Cleanup(cl.Close)
	return cl
}

// polygon returns a valid feature of about this many bytes: a shore line.
func polygon(id string, size int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"Feature","id":%q,"properties":{"id":%q,"level":1},"geometry":{"type":"Polygon","coordinates":[[`, id, id)
	n := size / 24
	for i := range n {
		angle := 2 * math.Pi * float64(i) / float64(n)
		radius := 1 + 0.3*math.Sin(37*angle) + 0.01*math.Sin(1009*angle)
		fmt.Fprintf(&b, "[%.8f,%.8f],", 11+radius*math.Cos(angle), 48+radius*math.Sin(angle))
	}
	first := strings.Index(b.String(), "[[[") + 2
	end := strings.Index(b.String()[first:], "]") + first + 1
	b.WriteString(b.String()[first:end])
	b.WriteString("]]}}")
	return b.Bytes()
}

// C-3, S4-15: a valid polygon that is larger than max.message.bytes and was sent compressed is delivered, or becomes a
// byte-identical dead letter. Later records are delivered, and no setting has to be raised.
func TestSizes_C3_S4_15_whatFitsTheSourceCompressedFitsEverywhere(t *testing.T) {
	parallel(t, testrun.Nightly)
	p := newPipe(t, 2*time.Minute).ensureDefault()
	good, bad := polygon("good", 1_600_000), polygon("bad", 1_600_000)
	bad = bytes.Replace(bad, []byte(`"properties":{"id":"bad",`), []byte(`"properties":{"ident":"bad",`), 1)
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.ZstdCompression()} {
		records := []*kgo.Record{{Key: []byte("good"), Value: good}, {Key: []byte("bad"), Value: bad}}
		must.Do(t, p.compressingProducer(codec).ProduceSync(p.ctx, records...).FirstErr())
		good, bad = bytes.Replace(good, []byte(`"level":1`), []byte(`"level":2`), 1), append(bad, ' ')
	}
	p.send("small")
	p.drain().wantBalanced(t)
	expect.Equal(t, len(p.read(p.topics.Output)), 3, "outputs")
	dead := p.read(p.topics.DLQ)
	must.That(t, len(dead) == 2, "%d dead letters, want 2", len(dead))
	for i, r := range dead {
		expect.That(t, bytes.Equal(r.Value, bad[:len(bad)-1+i]) || bytes.Equal(r.Value, bad[:len(bad)-2+i]), "dead letter %d has %d bytes that differ from the source record's", i, len(r.Value))
		expect.Equal(t, value(r, "switchback-pointer"), "", "pointer of dead letter", i, "though its record fits")
	}
}

// deadLetterHeaders returns the headers of a dead letter that the consumer wrote.
func (p *pipe) deadLetterHeaders(id string, source int64) []kgo.RecordHeader {
	return header.Control{
		DeadLetterID: id, ErrorCode: "record_too_large", ErrorClass: "row", ErrorStage: "gate", ErrorMessage: "the record is larger than the limit",
		Source: header.Position{Topic: p.topics.Source, Partition: 0, Offset: source}, HasSource: true, Pipeline: p.set.ID, Attempt: 1, MaxAttempts: 5,
	}.AppendTo(nil)
}

func (p *pipe) produceBatch(topic string, b *kmsg.RecordBatch) int64 {
	p.t.Helper()
	cl := must.Get(kgo.NewClient(kgo.SeedBrokers(p.environment.kafka.Addrs...)))(p.t)
	defer cl.Close()
	return must.Get(bombs.Produce(p.ctx, cl, topic, 0, b))(p.t)
}

// produceBombs fills the DLQ with records that are small in the topic and large in memory, and the source topic with a
// record that fits into no other topic. It returns the number of dead letters.
func (p *pipe) produceBombs() (deadLetters int) {
	p.t.Helper()
	now := time.Now()
	limit, segment := fmt.Sprint(110<<20), fmt.Sprint(256<<20)
	changes := []kadm.AlterConfig{{Name: "max.message.bytes", Value: &limit}, {Name: "segment.bytes", Value: &segment}}
	must.Get(p.log.Admin().AlterTopicConfigs(p.ctx, changes, p.topics.Source))(p.t)
	value := bytes.Repeat([]byte("0123456789abcdef"), 90<<20/16) // stored uncompressed
	at := header.Position{Topic: p.topics.Source, Offset: p.produceBatch(p.topics.Source, bombs.Batch(kgo.CodecNone, now, bombs.Record{Key: []byte("k"), Value: value}))}
	pointer := header.PointTo(at, []byte("k"), value, true)
	p.produceBatch(p.topics.DLQ, bombs.Batch(kgo.CodecNone, now, bombs.Record{Key: []byte("k"), Value: []byte{}, Headers: pointer.Append(p.deadLetterHeaders("0-0-pointer", 0))}))
	deadLetters++
	for i := range 4 {
		p.produceBatch(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, bombs.Record{Key: []byte("k"), Blanks: 800 << 20, Headers: p.deadLetterHeaders(fmt.Sprintf("0-%d-bomb", i), int64(i))}))
		deadLetters++
	}
	hostile := bytes.Repeat([]byte{1}, 8<<20-100) // six times as long in JSON
	for i := range 3 {
		p.produceBatch(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, bombs.Record{Key: []byte("k"), Value: hostile, Headers: p.deadLetterHeaders(fmt.Sprintf("0-%d-hostile", i), int64(i))}))
		deadLetters++
	}
	var many []bombs.Record
	for i := range 150 {
		many = append(many, bombs.Record{Key: []byte("k"), Blanks: 900_000, Headers: p.deadLetterHeaders(fmt.Sprintf("0-%d-many", i), int64(i))})
	}
	p.produceBatch(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, many...))
	deadLetters += len(many)
	for i := range 4 { // small in the topic, 24 MiB each in memory
		own := append(make([]kgo.RecordHeader, 600_000), p.deadLetterHeaders(fmt.Sprintf("0-%d-headers", i), int64(i))...)
		p.produceBatch(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, bombs.Record{Key: []byte("k"), Value: []byte("v"), Headers: own}))
		deadLetters++
	}
	return deadLetters
}

// S0-5: even if records decompress to gigabytes, every command of the replayer works and lists every dead letter.
func TestBombs_S0_5_everyReplayerCommandGoesOn(t *testing.T) {
	parallel(t, testrun.Nightly)
	p := newPipe(t, 6*time.Minute).ensure()
	deadLetters := p.produceBombs()
	dir := t.TempDir()
	run := func(code int, args ...string) string {
		t.Helper()
		r := p.run("replayer", append(args, "-c", p.file)...)
		expect.That(t, r.Code == code, "replayer %v: exit code %d, want %d\n%.2000s", args, r.Code, code, r.Stderr)
		return r.Stdout
	}
	out := run(0, "stats")
	expect.That(t, strings.Contains(out, fmt.Sprintf(`"dead_letters":%d`, deadLetters)), "%.500s", out)
	out = run(0, "list", "-o", "table")
	expect.That(t, strings.Count(out, "too large to index") == 4, "%d dead letters are named as too large to index", strings.Count(out, "too large to index"))
	run(0, "list", "-o", "ndjson")
	run(0, "list", "-o", "json", "--details")
	run(0, "groups")
	run(0, "groups", "--text", `    `)
	run(0, "show", "0-1-bomb")
	run(0, "show", "0-1-hostile")
	run(0, "show", "0-1-hostile", "-o", "table")
	run(0, "show", "0-0-pointer")
	run(0, "show", "0-1-headers", "-o", "table")
	for id, size := range map[string]int64{"0-1-bomb": 800 << 20, "0-0-pointer": 90 << 20, "0-1-hostile": 8<<20 - 100} {
		file := filepath.Join(dir, id)
		run(0, "show", id, "--out", file)
		info, err := os.Stat(file)
		expect.That(t, err == nil && info.Size() == size, "%s: %v, %v, want %d bytes", id, info, err, size)
	}
	for _, format := range []string{"ndjson", "geojson", "csv"} {
		run(0, "export", "--format", format)
	}
	run(0, "index", "--check")
	run(0, "index", "--rebuild")
	plan := filepath.Join(dir, "plan.jsonl")
	run(0, "plan", "-f", plan)
	run(exitRefused, "replay", "--plan", plan)
	run(exitRefused, "replay")
	run(exitNothing, "edit", "--set", "properties.a=1", "0-1-hostile", "0-1-bomb", "0-0-pointer", "0-7-many") // each one with its reason
	run(4, "replay", "--plan", plan, "--including-failing", "--execute", "--reason", "try")
	run(0, "replays", "-o", "json", replayID(t, plan))
	run(exitRefused, "discard")
	run(0, "discard", "--all", "--execute", "--reason", "cannot be saved")
	run(0, "reopen", "--status", "discarded", "--execute", "--reason", "perhaps they can")
	run(exitNothing, "prune", "--older-than", "0s")
	run(0, "audit")
	run(0, "index", "--check")
}

// replayID returns the ID of the replay that executes a plan.
func replayID(t *testing.T, plan string) string {
	t.Helper()
	text := must.Get(os.ReadFile(plan))(t)
	_, rest, _ := strings.Cut(string(text), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
