package integration

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
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
