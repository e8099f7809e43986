package feed

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Mix says what share of the records is of which kind. Shares are of 1.
type Mix struct {
	Keys      int
	Transient float64 // fails transiently
	Permanent float64
	Duplicate float64 // repeats a payload of its key: the last one mostly, an older one at times (A → B → A)
	Tombstone float64
	Keyless   float64
	Slow      float64 // its attempts take a hundred times as long
	Pad       int     // bytes that a payload is padded with, at most
}

// DefaultMix is that of requirement S2-9.
func DefaultMix() Mix {
	return Mix{Keys: 400, Transient: .10, Permanent: .01, Duplicate: .30, Tombstone: .005, Keyless: .005, Slow: .003, Pad: 200}
}

// Maker makes records. The same seed makes the same ones. It is for one goroutine.
type Maker struct {
	mix  Mix
	rng  *rand.Rand
	made int
	past map[string][][]byte // payloads of each key, the last few
}

// NewMaker gives a maker of records.
func NewMaker(mix Mix, seed uint64) *Maker {
	return &Maker{mix: mix, rng: rand.New(rand.NewPCG(seed, 0xfeed)), past: map[string][][]byte{}}
}

// remembered payloads of a key, for duplicates.
const remembered = 4

// Next makes one record, without a topic.
func (m *Maker) Next() *kgo.Record {
	m.made++
	r := &kgo.Record{Headers: []kgo.RecordHeader{
		{Key: "traceparent", Value: fmt.Appendf(nil, "00-%032x-%016x-01", m.made, m.made)},
		{Key: "made", Value: fmt.Append(nil, m.made)},
	}}
	if !m.chance(m.mix.Keyless) {
		r.Key = fmt.Appendf(nil, "k%04d", m.rng.IntN(m.mix.Keys))
	}
	switch past := m.past[string(r.Key)]; {
	case m.chance(m.mix.Tombstone):
	case r.Key != nil && len(past) > 0 && m.chance(m.mix.Duplicate):
		r.Value = past[len(past)-1]
		if m.chance(.2) {
			r.Value = past[m.rng.IntN(len(past))]
		}
	default:
		r.Value = m.payload()
		if r.Key != nil {
			m.past[string(r.Key)] = append(past[max(0, len(past)-remembered+1):], r.Value)
		}
	}
	return r
}

func (m *Maker) payload() []byte {
	e := Event{ID: m.made, Takes: time.Duration(m.rng.IntN(3000)) * time.Microsecond, Pad: m.pad()}
	switch {
	case m.chance(m.mix.Transient):
		e.Fails = 1
		for e.Fails < 6 && m.chance(.3) { // 0.8 % of them fail five times and are exhausted
			e.Fails++
		}
	case m.chance(m.mix.Permanent):
		e.Permanent = true
	}
	if m.chance(m.mix.Slow) {
		e.Takes *= 100
	}
	value, err := json.Marshal(e)
	if err != nil {
		panic(err) // a struct of numbers and text
	}
	return value
}

// pad gives text that hardly compresses: what a broker sends must not be a fraction of what a worker holds.
func (m *Maker) pad() string {
	raw := make([]byte, m.rng.IntN(m.mix.Pad)/2)
	for i := range raw {
		raw[i] = byte(m.rng.Uint32())
	}
	return hex.EncodeToString(raw)
}

func (m *Maker) chance(share float64) bool { return m.rng.Float64() < share }
