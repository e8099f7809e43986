package conservation

import (
	"bytes"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxOwnHeaders bounds the bytes of a record's own headers (architecture,
// section 5).
const maxOwnHeaders = 8 << 10

// checkCopy compares a tier's or the DLQ's record with the source record it came
// from: key, value and the producer's headers are the same bytes, in the same
// partition. A null and an empty key are two different things to Kafka.
func (a *Account) checkCopy(r *kgo.Record, from string) {
	original, root := a.source[from], a.root(from)
	if original == nil {
		return // already a fault
	}
	at := topiclog.Position(r)
	if !same(r.Key, original.Key) {
		a.fault(root, "%s: key %q is not the original's %q", at, r.Key, original.Key)
	}
	if !same(r.Value, original.Value) {
		a.fault(root, "%s: the value (%d bytes, null %t) is not the original's (%d bytes, null %t)",
			at, len(r.Value), r.Value == nil, len(original.Value), original.Value == nil)
	}
	if r.Partition != original.Partition {
		a.fault(root, "%s: partition %d is not the original's %d", at, r.Partition, original.Partition)
	}
	have, want := producers(r), producers(original)
	if len(have) != len(want) {
		a.fault(root, "%s: %d producer headers, the original has %d", at, len(have), len(want))
		return
	}
	for i := range want {
		if have[i].Key != want[i].Key || !bytes.Equal(have[i].Value, want[i].Value) {
			a.fault(root, "%s: producer header %d is %s=%q, the original's %s=%q", at, i, have[i].Key, have[i].Value, want[i].Key, want[i].Value)
		}
	}
	a.checkHeaders(r, root)
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// producers are the headers that the project did not add.
func producers(r *kgo.Record) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range r.Headers {
		if !own(h) {
			out = append(out, h)
		}
	}
	return out
}

// checkHeaders: own headers replace and never pile up, and stay bounded.
func (a *Account) checkHeaders(r *kgo.Record, root string) {
	count, size := map[string]int{}, 0
	for _, h := range r.Headers {
		if own(h) {
			count[h.Key]++
			size += len(h.Key) + len(h.Value)
		}
	}
	for key, n := range count {
		if n > 1 {
			a.fault(root, "%s: header %s is there %d times", topiclog.Position(r), key, n)
		}
	}
	if size > maxOwnHeaders {
		a.fault(root, "%s: own headers take %d bytes, at most %d are allowed", topiclog.Position(r), size, maxOwnHeaders)
	}
}
