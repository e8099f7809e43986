package feed

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Mix has the shares of the kinds of records, between 0 and 1.
type Mix struct {
	Keys      int
	Transient float64 // fails transiently
	Permanent float64
	Duplicate float64 // repeats a payload of its key: usually the last one, sometimes an older one (A → B → A)
	Tombstone float64
	Keyless   float64
	Slow      float64 // its attempts take a hundred times as long
	Pad       int     // maximum of the bytes that pad a payload
}

// DefaultMix is the mix of requirement S2-9.
func DefaultMix() Mix {
	return Mix{Keys: 400, Transient: .10, Permanent: .01, Duplicate: .30, Tombstone: .005, Keyless: .005, Slow: .003, Pad: 200}
}

// Maker makes records. The same seed makes the same records. It must be used by one goroutine only.
type Maker struct {
	mix   Mix
	rng   *rand.Rand
	count int
	past  map[string][][]byte // the last few payloads of each key
}

// NewMaker returns a maker of records.
func NewMaker(mix Mix, seed uint64) *Maker {
	return &Maker{mix: mix, rng: rand.New(rand.NewPCG(seed, 0xfeed)), past: map[string][][]byte{}}
}

// remembered is the number of payloads of a key that duplicates are drawn from.
const remembered = 4

// Next returns the next record, without a topic.
func (m *Maker) Next() *kgo.Record {
	m.count++
	r := &kgo.Record{Headers: []kgo.RecordHeader{
		{Key: "traceparent", Value: fmt.Appendf(nil, "00-%032x-%016x-01", m.count, m.count)},
		{Key: "made", Value: fmt.Append(nil, m.count)},
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
	e := Event{ID: m.count, Takes: time.Duration(m.rng.IntN(3000)) * time.Microsecond, Pad: m.pad()}
	switch {
	case m.chance(m.mix.Transient):
		e.Fails = 1
		for e.Fails < 6 && m.chance(.3) { // 0.8 % of these records fail five times and run out of attempts
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

// pad returns text that hardly compresses, so that a batch on the wire is about as large as its records in memory.
func (m *Maker) pad() string {
	raw := make([]byte, m.rng.IntN(m.mix.Pad)/2)
	for i := range raw {
		raw[i] = byte(m.rng.Uint32())
	}
	return hex.EncodeToString(raw)
}

func (m *Maker) chance(share float64) bool { return m.rng.Float64() < share }
