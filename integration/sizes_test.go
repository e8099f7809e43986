package integration

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A broker compares compressed bytes with max.message.bytes. So what fits the source compressed has to fit everywhere, and what a
// few bytes on the wire become in memory has to be bounded.

// defaults creates the source as a broker does by default, and all else by `topics ensure`.
func (p *pipe) defaults() *pipe {
	p.t.Helper()
	if err := p.log.Create(p.ctx, p.topics.Source, int32(p.set.Partitions), map[string]string{"max.message.bytes": strconv.Itoa(1 << 20)}); err != nil {
		p.t.Fatal(err)
	}
	if r := p.run("consumer", "topics", "ensure", "-c", p.file); r.Code != 0 {
		p.t.Fatalf("consumer topics ensure: %s", r)
	}
	return p
}

// compressing produces as a producer does that compresses; a record of any size that is small on the wire gets through.
func (p *pipe) compressing(codec kgo.CompressionCodec) *kgo.Client {
	p.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.set.Brokers...), kgo.DefaultProduceTopic(p.topics.Source), kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(512<<20), kgo.BrokerMaxWriteBytes(1<<30), kgo.ProducerLinger(0))
	if err != nil {
		p.t.Fatal(err)
	}
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
	testrun.Nightly(t)
	t.Parallel()
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
	if out := p.read(p.topics.Output); len(out) != 3 {
		t.Errorf("%d outputs, want the two good polygons and the small feature", len(out))
	}
	dead := p.read(p.topics.DLQ)
	must.That(t, len(dead) == 2, "%d dead letters, want 2", len(dead))
	for i, r := range dead {
		if want := bad[:len(bad)-1+i]; !bytes.Equal(r.Value, want) && !bytes.Equal(r.Value, bad[:len(bad)-2+i]) {
			t.Errorf("dead letter %d has %d bytes that are not the source's", i, len(r.Value))
		}
		if h := value(r, "switchback-pointer"); h != "" {
			t.Errorf("dead letter %d is a pointer, though the record fits: %s", i, h)
		}
	}
}

// residentLimit is what a consumer may have in memory at its defaults, whatever is sent.
const residentLimit = 512 << 20

// S4-15: three thousand records of 900 KB that compress to next to nothing, in batches as large as the client makes them.
func TestSizes_S4_15_memoryIsBoundedInDecompressedBytes(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const records = 3000
	p := newPipe(t, 4*time.Minute).defaults()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.set.Brokers...), kgo.DefaultProduceTopic(p.topics.Source), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(90<<20), kgo.ProducerLinger(50*time.Millisecond))
	must.That(t, err == nil, "%v", err)
	defer cl.Close()
	pad := strings.Repeat(" ", 900_000)
	for i := range records {
		id := fmt.Sprint("wide-", i)
		r := &kgo.Record{Key: []byte(id), Value: []byte(strings.Replace(feature(id), `"properties"`, pad+`"properties"`, 1))}
		cl.Produce(p.ctx, r, func(_ *kgo.Record, err error) {
			expect.That(t, err == nil, "%v", err)
		})
		if i%300 == 299 {
			must.Do(t, cl.Flush(p.ctx))
		}
	}
	consumer := p.start("it", "--until-end", "--summary", "-")
	memory := consumer.Memory()
	r := consumer.Wait(p.ctx, t)
	must.That(t, r.Code == 0, "consumer: %s", r)
	if got := readSummary(t, r.Stdout).balances(t).number(t, "delivered"); got != records {
		t.Errorf("%d delivered, want %d", got, records)
	}
	if peak := memory.Peak(); peak == 0 || peak > residentLimit {
		t.Errorf("%d MiB in memory at most, want at most %d", peak>>20, residentLimit>>20)
	} else {
		t.Logf("peak %d MiB", peak>>20)
	}
}
