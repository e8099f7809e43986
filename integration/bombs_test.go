package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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

// mostMemory is what a command of the replayer may have in memory, whatever lies in the topics.
const mostMemory = 512 << 20

// letterHeaders are those of a dead letter that the consumer wrote.
func (p *pipe) letterHeaders(id string, source int64) []kgo.RecordHeader {
	return header.Control{
		DeadLetterID: id, ErrorCode: "record_too_large", ErrorClass: "row", ErrorStage: "gate", ErrorMessage: "the record is larger than the limit",
		Source: header.Position{Topic: p.topics.Source, Partition: 0, Offset: source}, HasSource: true, Pipeline: p.set.ID, Attempt: 1, MaxAttempts: 5,
	}.AppendTo(nil)
}

func (p *pipe) drop(topic string, b *kmsg.RecordBatch) int64 {
	p.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.world.kafka.Addrs...))
	if err != nil {
		p.t.Fatal(err)
	}
	defer cl.Close()
	offset, err := bombs.Produce(p.ctx, cl, topic, 0, b)
	if err != nil {
		p.t.Fatal(err)
	}
	return offset
}

// explosives fills the DLQ with what is small where it lies and large in memory, and the source topic with a record that
// fits nowhere else. It gives how many letters that makes.
func (p *pipe) explosives() (letters int) {
	p.t.Helper()
	now := time.Now()
	limit, segment := fmt.Sprint(110<<20), fmt.Sprint(256<<20)
	changes := []kadm.AlterConfig{{Name: "max.message.bytes", Value: &limit}, {Name: "segment.bytes", Value: &segment}}
	if _, err := p.log.Admin().AlterTopicConfigs(p.ctx, changes, p.topics.Source); err != nil {
		p.t.Fatal(err)
	}
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

// S0-5: whatever decompresses to gigabytes in the topics, every command of the replayer stays small and goes on, and nothing is
// missing.
func TestBombs_S0_5_everyReplayerCommandStaysSmall(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 6*time.Minute).ensure()
	letters := p.explosives()
	dir := t.TempDir()
	run := func(code int, args ...string) string {
		t.Helper()
		began := time.Now()
		r := p.run("replayer", append(args, "-c", p.file)...)
		t.Logf("%-60s %4d MiB %6.1f s", strings.Join(args, " "), r.Memory>>20, time.Since(began).Seconds())
		expect.That(t, r.Code == code, "replayer %v: exit code %d, want %d\n%.2000s", args, r.Code, code, r.Stderr)
		expect.That(t, r.Memory <= mostMemory, "replayer %v had %d MiB in memory, at most %d may be", args, r.Memory>>20, mostMemory>>20)
		return r.Stdout
	}
	if out := run(0, "stats"); !strings.Contains(out, fmt.Sprintf(`"letters":%d`, letters)) {
		t.Errorf("%.500s", out)
	}
	if out := run(0, "list", "-o", "table"); strings.Count(out, "too large to index") != 4 {
		t.Errorf("%d are named", strings.Count(out, "too large to index"))
	}
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
		if info, err := os.Stat(file); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v, want %d bytes", id, info, err, size)
		}
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
