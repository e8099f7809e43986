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

// Keyring holds the keys of a pipeline: the first signs, every one verifies. The zero value has none and believes nothing. It is
// safe for concurrent use.
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

// Sign signs a record with the first key. It is false when there is none.
func (k *Keyring) Sign(r *kgo.Record) bool {
	keys := k.all()
	if len(keys) == 0 {
		return false
	}
	keys[0].Sign(r)
	return true
}

// Verify says whether a record of the topic in it was signed with one of the keys; the error is a *retrytopics.DoubtError. Values
// are hashed only when the proof names a key that is there.
func (k *Keyring) Verify(r *kgo.Record) error {
	doubt := func(d retrytopics.Doubt, format string, args ...any) error {
		return &retrytopics.DoubtError{Doubt: d, Reason: fmt.Sprintf(format, args...)}
	}
	at := slices.IndexFunc(r.Headers, isProof)
	if at < 0 {
		return doubt(retrytopics.DoubtMissing, "the record claims to be a replay and has no header %s", header.KeyReplayProof)
	}
	if slices.ContainsFunc(r.Headers[at+1:], isProof) {
		return doubt(retrytopics.DoubtMalformed, "header %s stands twice", header.KeyReplayProof)
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
