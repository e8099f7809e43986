package proof

import (
	"crypto/hmac"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Keyring has the keys of a pipeline. The first key signs, and every key verifies. The zero value has no keys and
// refuses every proof. A keyring is safe for concurrent use.
type Keyring struct{ keys atomic.Pointer[[]Key] }

// Set replaces the keys.
func (k *Keyring) Set(keys []Key) {
	own := slices.Clone(keys)
	k.keys.Store(&own)
}

func (k *Keyring) all() []Key {
	if keys := k.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// Sign signs a record with the first key. It returns false if there is no key.
func (k *Keyring) Sign(r *kgo.Record) bool {
	keys := k.all()
	if len(keys) == 0 {
		return false
	}
	keys[0].Sign(r)
	return true
}

// Verify refuses a record that none of the keys has signed for r.Topic. Its error is a *retrytopics.DoubtError. It
// hashes values only if the proof names a key of this keyring.
func (k *Keyring) Verify(r *kgo.Record) error {
	doubt := func(d retrytopics.Doubt, format string, args ...any) error {
		return &retrytopics.DoubtError{Doubt: d, Reason: fmt.Sprintf(format, args...)}
	}
	at := slices.IndexFunc(r.Headers, isProof)
	if at < 0 {
		return doubt(retrytopics.DoubtMissing, "the record claims to be a replay and has no header %s", header.KeyReplayProof)
	}
	if slices.ContainsFunc(r.Headers[at+1:], isProof) {
		return doubt(retrytopics.DoubtMalformed, "header %s occurs twice", header.KeyReplayProof)
	}
	p, err := Parse(string(r.Headers[at].Value))
	if err != nil {
		return doubt(retrytopics.DoubtMalformed, "%v", err)
	}
	for _, key := range k.all() {
		if key.id != p.KeyID {
			continue
		}
		if mac := key.mac(r); hmac.Equal(mac[:], p.MAC[:]) {
			return nil
		}
		return doubt(retrytopics.DoubtInvalid, "the proof with the key %s is not one of this record: its topic, key, value or control headers differ", p.KeyID)
	}
	return doubt(retrytopics.DoubtUnknownKey, "the proof names the key %s, which this pipeline does not have", p.KeyID)
}
