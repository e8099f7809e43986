package deadletters

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// readPointer sets where the original of a dead letter is, if its record is only a pointer.
func (l *Letter) readPointer(headers []kgo.RecordHeader) {
	p, ok, err := header.ParsePointer(headers)
	if err != nil {
		l.Problems = append(l.Problems, err.Error())
	}
	if !ok || err != nil {
		return
	}
	l.Pointer, l.Size = &p, int(min(p.Bytes, math.MaxInt32)) // Kafka has no larger record
	if !p.Read() {
		l.Problems = append(l.Problems, fmt.Sprintf("its original is at %s, in a batch that could not be decompressed", p.Position))
	}
}

// KeyHash returns the hash of the feature's key, even if the key did not fit into the DLQ.
func (l *Letter) KeyHash() idempotency.KeyHash {
	if l.Pointer != nil && l.Pointer.Key != nil {
		return idempotency.KeyHash(l.Pointer.Key[:len(idempotency.KeyHash{})]) // both begin with the SHA-256 of the key
	}
	return idempotency.HashKey(l.Key)
}

// Keyed reports whether the record that died had a key.
func (l *Letter) Keyed() bool { return l.Key != nil || l.Pointer != nil && l.Pointer.Key != nil }

// HoldsValue reports whether the dead letter's content has the original bytes: not if they are too large, or elsewhere.
func (l *Letter) HoldsValue() bool {
	return l.Content != nil && l.TooLarge == "" && (l.Pointer == nil || len(l.Content.Value) > 0 || l.Pointer.Read() && l.Pointer.Bytes == 0)
}

// Searched returns the original bytes in which a text is searched: all of them, or the head of a value that is not
// kept.
func (l *Letter) Searched() []byte {
	switch {
	case l.Content == nil:
		return nil
	case l.TooLarge != "":
		return l.Content.Head
	case !l.HoldsValue():
		return l.Pointer.Head
	}
	return l.Content.Value
}

// Original returns the position of a dead letter's original, if the DLQ record does not contain it: for a pointer
// record, or the dead letter of a share group that does not copy records.
func (l *Letter) Original() (at header.Position, elsewhere bool) {
	switch {
	case l.Pointer != nil:
		return l.Pointer.Position, true
	case l.Dialect == dialects.ShareGroup && l.Size == 0 && l.Key == nil && l.Control.HasSource:
		return l.Control.Source, true
	}
	return header.Position{}, false
}

// FetchOriginal sets a dead letter's key, value and producer headers from its original, if that is elsewhere. If it
// cannot be fetched, why is the reason: it was deleted, it is another record, or it has more than maxValue bytes (0
// is [MaxValue]). The dead letter then does not change.
func FetchOriginal(ctx context.Context, cl *kgo.Client, l *Letter, maxValue int) (why string, err error) {
	at, elsewhere := l.Original()
	if !elsewhere || l.Content == nil {
		return "", nil
	}
	most := cmp.Or(maxValue, kafka.MaxValue)
	if p := l.Pointer; p != nil {
		switch {
		case !p.Read():
			return fmt.Sprintf("its value is unknown: it is at %s, in a batch that could not be decompressed", at), nil
		case p.Bytes > int64(most):
			return fmt.Sprintf("its value has %d bytes, more than the %d that are read into memory", p.Bytes, most), nil
		}
	}
	value := &limited{most: most}
	found, err := kafka.CopyValue(ctx, cl, at, value)
	gone, isGone := errors.AsType[*kafka.GoneError](err)
	switch {
	case errors.Is(err, errTooLong):
		return fmt.Sprintf("its value has more than the %d bytes that are read into memory", most), nil
	case isGone:
		return "the payload is gone: " + gone.Why, nil
	case err != nil:
		return "", err
	case found.Crowded != "":
		return found.Crowded + ": a replay would lose headers of its producer", nil
	}
	if p := l.Pointer; p != nil && sha256.Sum256(value.Bytes()) != p.Value {
		return fmt.Sprintf("another record is at %s now: its SHA-256 differs", at), nil
	}
	own, original := l.Content.Headers, found.Headers
	if l.Pointer != nil { // its copy of the producer's headers
		own = slices.DeleteFunc(slices.Clone(own), func(h kgo.RecordHeader) bool { return !header.IsControl(h.Key) })
		original = header.ProducerHeaders(original)
	}
	l.Key, l.Size = found.Key, value.Len()
	l.Content = &Content{Value: valueOf(found, value.Bytes()), Headers: append(slices.Clip(original), own...)}
	return "", nil
}

// valueOf distinguishes a tombstone from an empty value.
func valueOf(found *recordbatch.Large, value []byte) []byte {
	if found.Bytes < 0 {
		return nil
	}
	if value == nil {
		return []byte{}
	}
	return value
}

// errTooLong ends the copying of too long a value.
var errTooLong = errors.New("the value is too long")

// limited is a buffer with a limit.
type limited struct {
	bytes.Buffer
	most int
}

// Write takes bytes up to the limit.
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		return 0, errTooLong
	}
	return l.Buffer.Write(p)
}
