package statetopic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// versionJSON is the value of a version record: number and offset of the version, and the offset after the newest
// delete.
type versionJSON struct {
	Format  int      `json:"format"`
	Version [3]int64 `json:"version"`
	Scale   Scale    `json:"scale"`
}

const versionFormat = 1

// The parts of a value as EncodeVersion writes it. A start reads millions of them, so they are parsed without package
// json.
const (
	versionHead = `{"format":1,"version":[`
	versionMid  = `],"scale":"`
	versionTail = `"}`
)

// EncodeVersion returns the record with the newest version of a key; it is a tombstone if n is nil. It has the hash of the key instead of the
// key, so it is short whatever the key, and can be removed without knowing the key.
func EncodeVersion(topic string, partition int32, k idempotency.KeyHash, n *Latest, scale Scale) *kgo.Record {
	key := append(append(make([]byte, 0, len(versionKey)+len(k)), versionKey...), k[:]...)
	r := &kgo.Record{Topic: topic, Partition: partition, Key: key}
	if n == nil {
		return r
	}
	v := append(make([]byte, 0, 96), versionHead...)
	v = append(strconv.AppendInt(v, n.Version.Number, 10), ',')
	v = append(strconv.AppendInt(v, n.Version.Offset, 10), ',')
	v = append(strconv.AppendInt(v, n.Deleted, 10), versionMid...)
	r.Value = append(append(v, scale...), versionTail...)
	return r
}

// DecodeVersion parses the value of a version record, on the reader's scale.
func DecodeVersion(value []byte, scale Scale) (Latest, error) {
	w, ok := scanVersion(string(value))
	if !ok {
		if err := json.Unmarshal(value, &w); err != nil {
			return Latest{}, fmt.Errorf("version record: %w", err)
		}
	}
	switch {
	case w.Format > versionFormat:
		return Latest{}, fmt.Errorf("version record of format %d: %w", w.Format, ErrNewer)
	case w.Format < 1 || w.Version[1] < 0 || w.Version[2] < 0:
		return Latest{}, errors.New("version record: a number is out of range")
	}
	return Latest{header.Version{Number: w.Version[0], Offset: w.Version[1]}, w.Version[2]}.On(w.Scale, scale), nil
}

// scanVersion parses what EncodeVersion writes; ok is false for any other text.
func scanVersion(text string) (w versionJSON, ok bool) {
	remaining, ok := strings.CutPrefix(text, versionHead)
	numbers, remaining, found := strings.Cut(remaining, versionMid)
	scale, tail, closed := strings.Cut(remaining, versionTail)
	if !ok || !found || !closed || tail != "" || strings.Count(numbers, ",") != len(w.Version)-1 {
		return w, false
	}
	w.Format, w.Scale = versionFormat, Scale(scale)
	for i := range w.Version {
		number, more, _ := strings.Cut(numbers, ",")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return w, false
		}
		w.Version[i], numbers = n, more
	}
	return w, true
}
