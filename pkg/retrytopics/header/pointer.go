package header

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// KeyPointer marks a pointer record: a dead letter of a source record that fits into no topic of the pipeline. The
// record's value is empty (zero bytes, not null). The header's value is a [Pointer] as JSON, which says where the
// original is.
const KeyPointer = "switchback-pointer"

// Limits of a pointer.
const (
	MaxPointerHead   = 1024 // bytes of the original value that a pointer holds
	MaxPointerBytes  = 2048 // of the header's value
	maxPointerTopic  = 249  // bytes; the limit of Kafka
	hexDigestLetters = 2 * sha256.Size
)

// Pointer is the position of a dead letter's original, and how to recognize it.
type Pointer struct {
	Position           // of the record in the source topic
	Bytes    int64     // length of the value; 0 if it could not be read
	Value    [32]byte  // SHA-256 of the value; zero if it could not be read
	Key      *[32]byte // SHA-256 of the key, if the dead letter has no key because it does not fit; otherwise nil
	Head     []byte    // the first bytes of the value, at most MaxPointerHead
}

// pointerWire is the JSON of a pointer; the names are a contract.
type pointerWire struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Bytes     int64  `json:"bytes"`
	Value     string `json:"sha256,omitempty"` // 64 hex digits
	Key       string `json:"key_sha256,omitempty"`
	Head      []byte `json:"head,omitempty"` // base64
}

// PointTo returns the pointer to a record. keyFits means that the dead letter has the record's key.
func PointTo(at Position, key, value []byte, keyFits bool) Pointer {
	p := Pointer{Position: at, Bytes: int64(len(value)), Value: sha256.Sum256(value)}
	p.Head = append(p.Head, value[:min(len(value), MaxPointerHead)]...)
	if !keyFits && key != nil {
		sum := sha256.Sum256(key)
		p.Key = &sum
	}
	return p
}

// Read reports whether the value was read when the pointer was made, so that its length, hash and head are known. It is
// false for a batch that cannot be decompressed.
func (p *Pointer) Read() bool { return p.Value != [32]byte{} }

// Append appends the header. It is at most [MaxPointerBytes] long: a longer head is cut.
func (p *Pointer) Append(headers []kgo.RecordHeader) []kgo.RecordHeader {
	w := pointerWire{
		Topic: p.Topic, Partition: p.Partition, Offset: p.Offset, Bytes: p.Bytes,
		Head: p.Head[:min(len(p.Head), MaxPointerHead)],
	}
	if p.Read() {
		w.Value = hex.EncodeToString(p.Value[:])
	}
	if p.Key != nil {
		w.Key = hex.EncodeToString(p.Key[:])
	}
	text, err := json.Marshal(w)
	if err != nil {
		panic("retrytopics: encode a pointer: " + err.Error()) // strings, numbers and bytes have no error
	}
	return append(headers, kgo.RecordHeader{Key: KeyPointer, Value: text})
}

// ParsePointer parses the pointer of a dead letter; ok is false if it has none. The error is an *[Error] if the header
// is malformed or duplicated. Unknown members are ignored.
func ParsePointer(headers []kgo.RecordHeader) (p Pointer, ok bool, err error) {
	for _, h := range headers {
		if h.Key != KeyPointer {
			continue
		}
		text := string(h.Value[:min(len(h.Value), MaxPointerBytes)])
		if ok {
			return Pointer{}, true, Malformed(h.Key, text, "it occurs twice")
		}
		ok = true
		var reason string
		if p, reason = parsePointer(h.Value); reason != "" {
			return Pointer{}, true, Malformed(h.Key, text, reason)
		}
	}
	return p, ok, nil
}

// parsePointer parses the value of the header, and returns the reason if it cannot.
func parsePointer(value []byte) (p Pointer, reason string) {
	if len(value) > MaxPointerBytes {
		return p, fmt.Sprintf("it has %d bytes, more than %d", len(value), MaxPointerBytes)
	}
	var w pointerWire
	if err := json.Unmarshal(value, &w); err != nil {
		return p, "not the JSON of a pointer: " + err.Error()
	}
	p = Pointer{
		Position: Position{Topic: w.Topic, Partition: w.Partition, Offset: w.Offset},
		Bytes:    w.Bytes, Head: w.Head,
	}
	switch {
	case p.Topic == "" || len(p.Topic) > maxPointerTopic || !topicName(p.Topic):
		return p, "topic is not the name of a topic"
	case w.Partition < 0 || w.Offset < 0 || w.Bytes < 0:
		return p, "a number is negative"
	case len(p.Head) > MaxPointerHead || int64(len(p.Head)) > p.Bytes:
		return p, "head is longer than the value, or than 1024 bytes"
	case !digest(w.Value, &p.Value) || w.Value != "" && !p.Read():
		return p, "sha256 is not 64 hex digits"
	case w.Value == "" && w.Bytes > 0:
		return p, "sha256 is missing"
	}
	if w.Key != "" {
		p.Key = new([32]byte)
		if !digest(w.Key, p.Key) {
			return p, "key_sha256 is not 64 hex digits"
		}
	}
	return p, ""
}

// topicName reports whether Kafka allows the characters of a topic's name.
func topicName(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

// digest parses a SHA-256 in hex; an absent one stays zero.
func digest(text string, to *[32]byte) bool {
	if text == "" {
		return true
	}
	if len(text) != hexDigestLetters {
		return false
	}
	_, err := hex.Decode(to[:], []byte(text))
	return err == nil
}
