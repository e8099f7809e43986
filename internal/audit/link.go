package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Link is the position of one entry in a chain. The zero Link precedes the first entry.
type Link struct {
	Seq  int64  `json:"seq"`  // from 1, without gaps
	Prev string `json:"prev"` // hash of the entry before; "" for the first
	Hash string `json:"hash"` // "sha256:<64 hex>" over seq, prev and the entry
}

// ErrBroken is wrapped for an entry that does not fit its chain.
var ErrBroken = errors.New("the chain is broken")

// Next returns the link of the following entry. The entry is JSON, without its link. RFC 8785 cannot distinguish
// numbers beyond the range of a float64, so the entry must not have any. The error is the reason why the entry is not
// JSON.
func (l Link) Next(entry []byte) (Link, error) {
	next := Link{Seq: l.Seq + 1, Prev: l.Hash}
	hash, err := next.over(entry)
	if err != nil {
		return Link{}, err
	}
	next.Hash = hash
	return next, nil
}

// NextOf is [Link.Next] for an entry that is an Object.
func (l Link) NextOf(entry *Object) Link {
	next := Link{Seq: l.Seq + 1, Prev: l.Hash}
	h := next.begin()
	entry.writeCanonical(h)
	next.Hash = sum(h)
	return next
}

// over hashes the entry together with its position.
func (l Link) over(entry []byte) (string, error) {
	canonical := jsontext.Value(append([]byte(nil), entry...))
	if err := canonical.Canonicalize(); err != nil {
		return "", fmt.Errorf("canonical form of a chained entry: %w", err)
	}
	h := l.begin()
	h.Write(canonical)
	return sum(h), nil
}

// begin hashes what precedes the entry.
func (l Link) begin() hash.Hash {
	h := sha256.New()
	place := strconv.AppendInt(make([]byte, 0, 96), l.Seq, 10)
	h.Write(append(append(append(place, '\n'), l.Prev...), '\n'))
	return h
}

func sum(h hash.Hash) string {
	const prefix = "sha256:"
	var digest [sha256.Size]byte
	return string(hex.AppendEncode(append(make([]byte, 0, len(prefix)+2*sha256.Size), prefix...), h.Sum(digest[:0])))
}
