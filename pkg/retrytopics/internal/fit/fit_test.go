package fit

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

const limit = 100_000

func limits() *kafka.Limits {
	return kafka.NewLimits(kafka.Told{Bytes: map[string]int{"small": limit}}, []string{"small"})
}

// noise returns bytes that no compression makes smaller.
func noise(n int) []byte {
	random := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	_, _ = random.Read(b)
	return b
}

func TestKept_comparesWhatTheBrokerCompares(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		topic string
		value []byte
		fits  bool
	}{
		"small":                                    {"small", noise(1000), true},
		"no room for its headers":                  {"small", noise(limit - 1000), false},
		"large, and compresses well":               {"small", make([]byte, 10*limit), true},
		"large, for a topic without a known limit": {"other", noise(20 * limit), true},
	} {
		r := &kgo.Record{Value: c.value}
		expect.That(t, Kept(limits(), c.topic, r, len(c.value)+100) == c.fits, "%s: it fits: %t, want %t", name, !c.fits, c.fits)
	}
}

func TestPointerRecord_keepsWhatFitsEverywhere(t *testing.T) {
	t.Parallel()
	headers := []kgo.RecordHeader{{Key: "producer", Value: []byte("x")}}
	wide := []kgo.RecordHeader{{Key: "producer", Value: noise(pointerHeaders)}}
	for name, c := range map[string]struct {
		key     []byte
		headers []kgo.RecordHeader
		keeps   bool
	}{
		"a small key and headers":   {[]byte("k"), headers, true},
		"a large key and headers":   {noise(PointerKey + 1), wide, false},
		"the largest key that fits": {noise(PointerKey), headers, true},
	} {
		r := &kgo.Record{Topic: "in", Partition: 2, Offset: 7, Key: c.key, Value: noise(10)}
		kept := PointerRecord("dlq", r, Pointer(r), c.headers, &header.Control{}, &header.Buffer{})
		producer := slices.ContainsFunc(kept.Headers, func(h kgo.RecordHeader) bool { return h.Key == "producer" })
		expect.That(t, (kept.Key != nil) == c.keeps && producer == c.keeps, "%s: key of %d bytes, producer's headers %t", name, len(kept.Key), producer)
		expect.That(t, kept.Topic == "dlq" && kept.Partition == 2 && kept.Value != nil && len(kept.Value) == 0, "%s: %s/%d with %d bytes", name, kept.Topic, kept.Partition, len(kept.Value))
	}
}

func TestOutputError_hasTheCodeOfItsCause(t *testing.T) {
	t.Parallel()
	for want, cause := range map[classify.Code]error{
		classify.CodeNullKey:        &KeylessError{Topic: "out", Err: kerr.InvalidRecord},
		classify.CodeBrokerRejected: kerr.InvalidTimestamp,
		classify.CodeOutputTooLarge: errors.New("too large"),
	} {
		expect.Equal(t, (&OutputError{cause}).FailureCode(), want, "code of %v", cause)
	}
}
