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

// A broker compares compressed bytes with max.message.bytes. So what fits the source compressed has to fit everywhere, and what a
// few bytes on the wire become in memory has to be bounded.

// defaults creates the source as a broker does by default, and all else by `topics ensure`.
func (p *pipe) defaults() *pipe {
	p.t.Helper()
	must.Do(p.t, p.log.Create(p.ctx, p.topics.Source, int32(p.set.Partitions), map[string]string{"max.message.bytes": strconv.Itoa(1 << 20)}))
	p.does("topics", "ensure")
	return p
}

// compressing produces as a producer does that compresses; a record of any size that is small on the wire gets through.
func (p *pipe) compressing(codec kgo.CompressionCodec) *kgo.Client {
	p.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.set.Brokers...), kgo.DefaultProduceTopic(p.topics.Source), kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(512<<20), kgo.BrokerMaxWriteBytes(1<<30), kgo.ProducerLinger(0))
	must.Do(p.t, err)
	p.t.Cleanup(cl.Close)
	return cl
}

// polygon is an honest feature of about so many bytes: a shore line.
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

// C-3, S4-15: an honest polygon that is larger than max.message.bytes and was sent compressed is delivered, or dead-lettered byte for
// byte, and what comes behind it is delivered. Nothing has to be raised by hand.
func TestSizes_C3_S4_15_whatFitsTheSourceCompressedFitsEverywhere(t *testing.T) {
	beside(t, testrun.Nightly)
	p := newPipe(t, 2*time.Minute).defaults()
	good, bad := polygon("good", 1_600_000), polygon("bad", 1_600_000)
	bad = bytes.Replace(bad, []byte(`"properties":{"id":"bad",`), []byte(`"properties":{"ident":"bad",`), 1)
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.ZstdCompression()} {
		records := []*kgo.Record{{Key: []byte("good"), Value: good}, {Key: []byte("bad"), Value: bad}}
		must.Do(t, p.compressing(codec).ProduceSync(p.ctx, records...).FirstErr())
		good, bad = bytes.Replace(good, []byte(`"level":1`), []byte(`"level":2`), 1), append(bad, ' ')
	}
	p.send("small")
	p.drain().balances(t)
	expect.Equal(t, len(p.read(p.topics.Output)), 3, "outputs")
	dead := p.read(p.topics.DLQ)
	must.That(t, len(dead) == 2, "%d dead letters, want 2", len(dead))
	for i, r := range dead {
		expect.That(t, bytes.Equal(r.Value, bad[:len(bad)-1+i]) || bytes.Equal(r.Value, bad[:len(bad)-2+i]), "dead letter %d has %d bytes that are not the source's", i, len(r.Value))
		expect.Equal(t, value(r, "switchback-pointer"), "", "dead letter", i, "is a pointer, though the record fits")
	}
}

// letterHeaders are those of a dead letter that the consumer wrote.
func (p *pipe) letterHeaders(id string, source int64) []kgo.RecordHeader {
	return header.Control{
		DeadLetterID: id, ErrorCode: "record_too_large", ErrorClass: "row", ErrorStage: "gate", ErrorMessage: "the record is larger than the limit",
		Source: header.Position{Topic: p.topics.Source, Partition: 0, Offset: source}, HasSource: true, Pipeline: p.set.ID, Attempt: 1, MaxAttempts: 5,
	}.AppendTo(nil)
}

func (p *pipe) drop(topic string, b *kmsg.RecordBatch) int64 {
	p.t.Helper()
	cl := must.Get(kgo.NewClient(kgo.SeedBrokers(p.world.kafka.Addrs...)))(p.t)
	defer cl.Close()
	return must.Get(bombs.Produce(p.ctx, cl, topic, 0, b))(p.t)
}

// explosives fills the DLQ with what is small where it lies and large in memory, and the source topic with a record that
// fits nowhere else. It gives how many letters that makes.
func (p *pipe) explosives() (letters int) {
	p.t.Helper()
	now := time.Now()
	limit, segment := fmt.Sprint(110<<20), fmt.Sprint(256<<20)
	changes := []kadm.AlterConfig{{Name: "max.message.bytes", Value: &limit}, {Name: "segment.bytes", Value: &segment}}
	must.Get(p.log.Admin().AlterTopicConfigs(p.ctx, changes, p.topics.Source))(p.t)
	value := bytes.Repeat([]byte("0123456789abcdef"), 90<<20/16) // not compressed where it lies
	at := header.Position{Topic: p.topics.Source, Offset: p.drop(p.topics.Source, bombs.Batch(kgo.CodecNone, now, bombs.Record{Key: []byte("k"), Value: value}))}
	pointer := header.PointTo(at, []byte("k"), value, true)
	p.drop(p.topics.DLQ, bombs.Batch(kgo.CodecNone, now, bombs.Record{Key: []byte("k"), Value: []byte{}, Headers: pointer.Append(p.letterHeaders("0-0-pointer", 0))}))
	letters++
	for i := range 4 {
		p.drop(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, bombs.Record{Key: []byte("k"), Blanks: 800 << 20, Headers: p.letterHeaders(fmt.Sprintf("0-%d-bomb", i), int64(i))}))
		letters++
	}
	hostile := bytes.Repeat([]byte{1}, 8<<20-100) // six times as long in JSON
	for i := range 3 {
		p.drop(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, bombs.Record{Key: []byte("k"), Value: hostile, Headers: p.letterHeaders(fmt.Sprintf("0-%d-hostile", i), int64(i))}))
		letters++
	}
	var many []bombs.Record
	for i := range 150 {
		many = append(many, bombs.Record{Key: []byte("k"), Blanks: 900_000, Headers: p.letterHeaders(fmt.Sprintf("0-%d-many", i), int64(i))})
	}
	p.drop(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, many...))
	letters += len(many)
	for i := range 4 { // small where they lie: each takes 24 MiB in memory
		own := append(make([]kgo.RecordHeader, 600_000), p.letterHeaders(fmt.Sprintf("0-%d-headers", i), int64(i))...)
		p.drop(p.topics.DLQ, bombs.Batch(kgo.CodecZstd, now, bombs.Record{Key: []byte("k"), Value: []byte("v"), Headers: own}))
		letters++
	}
	return letters
}

// S0-5: whatever decompresses to gigabytes in the topics, every command of the replayer goes on, and nothing is missing.
func TestBombs_S0_5_everyReplayerCommandGoesOn(t *testing.T) {
	beside(t, testrun.Nightly)
	p := newPipe(t, 6*time.Minute).ensure()
	letters := p.explosives()
	dir := t.TempDir()
	run := func(code int, args ...string) string {
		t.Helper()
		r := p.run("replayer", append(args, "-c", p.file)...)
		expect.That(t, r.Code == code, "replayer %v: exit code %d, want %d\n%.2000s", args, r.Code, code, r.Stderr)
		return r.Stdout
	}
	out := run(0, "stats")
	expect.That(t, strings.Contains(out, fmt.Sprintf(`"letters":%d`, letters)), "%.500s", out)
	out = run(0, "list", "-o", "table")
	expect.That(t, strings.Count(out, "too large to index") == 4, "%d are named", strings.Count(out, "too large to index"))
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
	run(exitNothing, "edit", "--set", "properties.a=1", "0-1-hostile", "0-1-bomb", "0-0-pointer", "0-7-many") // each says why not
	run(4, "replay", "--plan", plan, "--including-failing", "--execute", "--reason", "try")
	run(0, "replays", "-o", "json", replayOf(t, plan))
	run(exitRefused, "discard")
	run(0, "discard", "--all", "--execute", "--reason", "cannot be saved")
	run(0, "reopen", "--status", "discarded", "--execute", "--reason", "perhaps they can")
	run(exitNothing, "prune", "--older-than", "0s")
	run(0, "audit")
	run(0, "index", "--check")
}

// replayOf is the replay that a plan becomes.
func replayOf(t *testing.T, plan string) string {
	t.Helper()
	text := must.Get(os.ReadFile(plan))(t)
	_, rest, _ := strings.Cut(string(text), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
