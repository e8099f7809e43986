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

// idBytes is the length of a key's ID.
const idBytes = 8

// form is the version at the start of a proof.
const form = "1"

// domain separates the MAC from every other use of the key.
const domain = "switchback replay proof 1"

// Proof is the value of the header switchback-replay-proof: "1/<key id>/<MAC>", both as lower-case hex.
type Proof struct {
	KeyID string
	MAC   [sha256.Size]byte
}

// String returns the proof as the header value.
func (p Proof) String() string { return form + "/" + p.KeyID + "/" + hex.EncodeToString(p.MAC[:]) }

// Parse parses the header value. It accepts exactly one text for each proof.
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

// Sign adds the proof to a record that is ready to be produced. Nothing that the proof covers may change afterwards.
func (k Key) Sign(r *kgo.Record) {
	r.Headers = slices.DeleteFunc(r.Headers, isProof)
	value := Proof{KeyID: k.id, MAC: k.mac(r)}.String()
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: header.KeyReplayProof, Value: []byte(value)})
}

func isProof(h kgo.RecordHeader) bool { return h.Key == header.KeyReplayProof }

// mac returns the MAC of a record. It covers the topic, so that the proof of one pipeline is not valid for another
// pipeline with the same key. It covers key and value. It covers every control header in order, including those of
// later versions, so that the consumer trusts no uncovered header. It does not cover the producer's own headers,
// because software that produces the record to its DLQ adds headers. The length of each part precedes the part.
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

// part writes one part of the MAC's input: whether it is present, its length, and its bytes. The first byte
// distinguishes an absent key from an empty one.
func part(h hash.Hash, b []byte, there bool) {
	var head [9]byte
	if there {
		head[0] = 1
	}
	binary.BigEndian.PutUint64(head[1:], uint64(len(b)))
	_, _ = h.Write(head[:]) // a hash never returns an error
	_, _ = h.Write(b)
}
