package dlqindex

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// One letter must not keep all others out of the index, however long its key and its headers are. What cannot be
// compressed is too long for an index of PostgreSQL from a few kilobytes on.
func TestSync_S4_6_takes_in_letters_with_long_names(t *testing.T) {
	t.Parallel()
	random := make([]byte, 24000)
	seeded := rand.NewChaCha8([32]byte{})
	_, _ = seeded.Read(random) // never fails
	text := base64.StdEncoding.EncodeToString(random)
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		with := func(id, header string) *kgo.Record { // this software would cut it
			r := w.dead(0, id, nil)
			r.Headers = slices.DeleteFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == header })
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: header, Value: []byte(text)})
			return r
		}
		w.put(
			&kgo.Record{Topic: "dlq", Key: random, Value: []byte("{}")},
			&kgo.Record{Topic: "dlq", Key: []byte(text), Value: []byte("{}")},
			with("id", header.KeyDeadLetterID),
			with("pipeline", header.KeyPipeline),
			with("run", header.KeyRunID),
			with("feature", header.KeyFeatureID),
		)
		if done := w.sync(); done.Letters != 6 {
			t.Errorf("%+v", done)
		}
		w.sound()
		for _, id := range []string{"pipeline", "run", "dlq-0-2"} {
			if l := w.letter(id); len(l.Problems) == 0 {
				t.Errorf("dead letter %s: no word of its header", id)
			}
		}
	})
}
