package conservation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxOwnHeaders limits the bytes of a record's own headers (architecture, section 5). The header with the remaining
// parts of a record is not included.
const maxOwnHeaders, maxRest = 8 << 10, 1800

// checkCopy compares a record of a tier or the DLQ with its source record: key, value and the producer's headers are the
// same bytes, in the same partition. To Kafka, a null key and an empty key differ.
func (a *Account) checkCopy(r *kgo.Record, from string) {
	original, root := a.source[from], a.rootOf(r, from)
	if original == nil {
		return // already reported as a fault
	}
	at := topiclog.Position(r)
	if !same(r.Key, original.Key) {
		a.fault(root, "%s: key %q is not the original's %q", at, r.Key, original.Key)
	}
	if part, n := topiclog.Header(r, headerPart); n > 0 {
		if want, have := features(original.Value), features(r.Value); !isPart(part, have, want) {
			a.fault(root, "%s: part %s differs from the original: %s", at, part, r.Value)
		}
	} else if !same(r.Value, original.Value) {
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

// features returns the texts of the features of a collection.
func features(collection []byte) []json.RawMessage {
	var all struct{ Features []json.RawMessage }
	if json.Unmarshal(collection, &all) != nil {
		return nil
	}
	return all.Features
}

// isPart reports whether a dead letter has exactly the feature of the original that its header names.
func isPart(part string, have, want []json.RawMessage) bool {
	var i, of int
	if n, err := fmt.Sscanf(part, "%d/%d", &i, &of); n != 2 || err != nil {
		return false
	}
	return len(have) == 1 && len(want) == of && i < of && bytes.Equal(have[0], want[i])
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// producers returns the headers that the project did not add.
func producers(r *kgo.Record) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range r.Headers {
		if !own(h) {
			out = append(out, h)
		}
	}
	return out
}

// checkHeaders checks that own headers are replaced instead of repeated, and are bounded.
func (a *Account) checkHeaders(r *kgo.Record, root string) {
	count, size := map[string]int{}, 0
	for _, h := range r.Headers {
		if h.Key == headerRest {
			size -= min(len(h.Value), maxRest)
		}
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
		a.fault(root, "%s: own headers take %d bytes; at most %d are allowed", topiclog.Position(r), size, maxOwnHeaders)
	}
}
