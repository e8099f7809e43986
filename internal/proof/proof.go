package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// idBytes is the length of a key's id.
const idBytes = 8

// form begins a proof; another one would be of another version.
const form = "1"

// domain keeps the MAC apart from every other use of the key.
const domain = "switchback replay proof 1"

// Proof is the value of the header switchback-replay-proof: "1/<key id>/<MAC>", both as lower-case hex.
type Proof struct {
	KeyID string
	MAC   [sha256.Size]byte
}

// String is the form of the header.
func (p Proof) String() string { return form + "/" + p.KeyID + "/" + hex.EncodeToString(p.MAC[:]) }

// Parse reads the form of the header. There is one text for each proof.
func Parse(text string) (Proof, error) {
	const length = len(form) + 1 + 2*idBytes + 1 + 2*sha256.Size
	parts := strings.Split(text, "/")
	var id [idBytes]byte
	var p Proof
	if len(text) == length && len(parts) == 3 && parts[0] == form && len(parts[1]) == 2*idBytes {
		_, badID := hex.Decode(id[:], []byte(parts[1]))
		_, badMAC := hex.Decode(p.MAC[:], []byte(parts[2]))
		p.KeyID = hex.EncodeToString(id[:])
		if badID == nil && badMAC == nil && p.String() == text {
			return p, nil
		}
	}
	return Proof{}, fmt.Errorf("header %s is not %s/<%d hex digits>/<%d hex digits>", header.KeyReplayProof, form, 2*idBytes, 2*sha256.Size)
}

// Sign adds the proof to a record that is ready to be sent to its topic: nothing that it covers may change afterwards.
func (k Key) Sign(r *kgo.Record) {
	r.Headers = slices.DeleteFunc(r.Headers, isProof)
	value := Proof{KeyID: k.id, MAC: k.mac(r)}.String()
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: header.KeyReplayProof, Value: []byte(value)})
}

func isProof(h kgo.RecordHeader) bool { return h.Key == header.KeyReplayProof }

// mac covers the topic, so that a replay of one pipeline proves nothing to another one with the same key; key and value; and every
// control header in its order, also those of later versions, so that no header is believed that is not covered. The producer's own
// headers are not covered: other software that puts the record into its DLQ adds to them. Every part has its length before it.
func (k Key) mac(r *kgo.Record) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, *k.secret)
	part(h, []byte(domain), true)
	part(h, []byte(r.Topic), true)
	part(h, r.Key, r.Key != nil)
	part(h, r.Value, r.Value != nil)
	for _, rh := range r.Headers {
		if header.IsControl(rh.Key) && !isProof(rh) {
			part(h, []byte(rh.Key), true)
			part(h, rh.Value, true)
		}
	}
	h.Sum(sum[:0])
	return sum
}

// part writes a part: whether it is there (no key differs from an empty one), its length, its bytes.
func part(h hash.Hash, b []byte, there bool) {
	var head [9]byte
	if there {
		head[0] = 1
	}
	binary.BigEndian.PutUint64(head[1:], uint64(len(b)))
	_, _ = h.Write(head[:]) // a hash never fails
	_, _ = h.Write(b)
}
