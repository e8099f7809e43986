package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func key(t *testing.T, fill byte) Key {
	t.Helper()
	return must.Get(NewKey(bytes.Repeat([]byte{fill}, MinKeyBytes)))(t)
}

// replay returns a signed record as the replayer writes it.
func replay(k Key) *kgo.Record {
	control := header.Control{
		DeadLetterID: "3-5-aabbccdd", ReplayID: "r1", ReplayCount: 2, Source: header.Position{Topic: "t", Partition: 3, Offset: 5}, HasSource: true,
		ContentHash: "sha256:00", Lineage: "stac:1",
	}
	r := &kgo.Record{Topic: "t", Partition: 3, Offset: 100, Key: []byte("k"), Value: []byte("v")}
	r.Headers = control.AppendTo([]kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}})
	k.Sign(r)
	return r
}

func headerOf(name, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: []byte(value)}
}

// S0-8, S4-6: a proof is valid for one topic, key, value and set of control headers.
func TestVerify_S4_6_holdsForOneRecord(t *testing.T) {
	mine := key(t, 1)
	var ring Keyring
	ring.Set([]Key{key(t, 2), mine})
	proofOf := func(r *kgo.Record) string { return string(r.Headers[len(r.Headers)-1].Value) }
	set := func(name, value string) func(*kgo.Record) {
		return func(r *kgo.Record) {
			for i := range r.Headers {
				if r.Headers[i].Key == name {
					r.Headers[i].Value = []byte(value)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*kgo.Record)
		want   retrytopics.Doubt // "" for a valid proof
	}{
		"as it was signed":       {func(*kgo.Record) {}, ""},
		"elsewhere in the topic": {func(r *kgo.Record) { r.Partition, r.Offset = 0, 7 }, ""},
		"with a producer header": {func(r *kgo.Record) { r.Headers = append(r.Headers, headerOf("tag", "x")) }, ""},
		"signed again":           {func(r *kgo.Record) { mine.Sign(r) }, ""},

		"another topic":                  {func(r *kgo.Record) { r.Topic = "u" }, retrytopics.DoubtInvalid},
		"another key":                    {func(r *kgo.Record) { r.Key = []byte("K") }, retrytopics.DoubtInvalid},
		"no key":                         {func(r *kgo.Record) { r.Key = nil }, retrytopics.DoubtInvalid},
		"an empty key":                   {func(r *kgo.Record) { r.Key = []byte{} }, retrytopics.DoubtInvalid},
		"another value":                  {func(r *kgo.Record) { r.Value = []byte("V") }, retrytopics.DoubtInvalid},
		"a tombstone":                    {func(r *kgo.Record) { r.Value = nil }, retrytopics.DoubtInvalid},
		"key into value":                 {func(r *kgo.Record) { r.Key, r.Value = []byte("kv"), []byte{} }, retrytopics.DoubtInvalid},
		"a header more":                  {func(r *kgo.Record) { r.Headers = append(r.Headers, headerOf("switchback-force-version", "true")) }, retrytopics.DoubtInvalid},
		"of a later kind":                {func(r *kgo.Record) { r.Headers = append(r.Headers, headerOf("switchback-new", "1")) }, retrytopics.DoubtInvalid},
		"a header less":                  {func(r *kgo.Record) { r.Headers = r.Headers[2:] }, retrytopics.DoubtInvalid},
		"dead letter":                    {set(header.KeyDeadLetterID, "3-6-aabbccdd"), retrytopics.DoubtInvalid},
		"replay":                         {set(header.KeyReplayID, "r2"), retrytopics.DoubtInvalid},
		"replay count":                   {set(header.KeyReplayCount, "3"), retrytopics.DoubtInvalid},
		"source":                         {set(header.KeySource, "t/3/6"), retrytopics.DoubtInvalid},
		"content hash":                   {set(header.KeyContentHash, "sha256:01"), retrytopics.DoubtInvalid},
		"marks":                          {set(header.KeyLineage, "stac:2"), retrytopics.DoubtInvalid},
		"signed by no key that is there": {func(r *kgo.Record) { key(t, 9).Sign(r) }, retrytopics.DoubtUnknownKey},
		"signed by another key of the list, the id replaced": {func(r *kgo.Record) {
			key(t, 2).Sign(r)
			set(header.KeyReplayProof, strings.Replace(proofOf(r), key(t, 2).ID(), mine.ID(), 1))(r)
		}, retrytopics.DoubtInvalid},
		"no proof":       {func(r *kgo.Record) { r.Headers = r.Headers[:len(r.Headers)-1] }, retrytopics.DoubtMissing},
		"two proofs":     {func(r *kgo.Record) { r.Headers = append(r.Headers, r.Headers[len(r.Headers)-1]) }, retrytopics.DoubtMalformed},
		"no hex":         {set(header.KeyReplayProof, "1/"+strings.Repeat("x", 16)+"/"+strings.Repeat("0", 64)), retrytopics.DoubtMalformed},
		"another form":   {func(r *kgo.Record) { set(header.KeyReplayProof, "2"+proofOf(r)[1:])(r) }, retrytopics.DoubtMalformed},
		"upper case":     {func(r *kgo.Record) { set(header.KeyReplayProof, strings.ToUpper(proofOf(r)))(r) }, retrytopics.DoubtMalformed},
		"a shorter MAC":  {func(r *kgo.Record) { p := proofOf(r); set(header.KeyReplayProof, p[:len(p)-2])(r) }, retrytopics.DoubtMalformed},
		"an empty proof": {set(header.KeyReplayProof, ""), retrytopics.DoubtMalformed},
	} {
		r := replay(mine)
		c.change(r)
		err := ring.Verify(r)
		got := retrytopics.Doubt("")
		if e, ok := errors.AsType[*retrytopics.DoubtError](err); ok {
			got = e.Doubt
		}
		expect.That(t, got == c.want && (err == nil) == (c.want == ""), "%v: got %v, want %q", name, err, c.want)
	}
}

// The format is a contract between versions.
func TestSign_writesTheSameForm(t *testing.T) {
	r := replay(key(t, 1))
	const want = "1/f2d26cd4d07c5606/9cbf58d392676da5e3dc5b712251a7c148d2e5e317cb26f02d501ca3c9f04d58" // computed with Python's hmac
	expect.Equal(t, string(r.Headers[len(r.Headers)-1].Value), want)
}

// Without keys, nothing is signed and no proof is valid.
func TestKeyring_withoutKeysBelievesNothing(t *testing.T) {
	var ring Keyring
	r := replay(key(t, 1))
	expect.That(t, ring.Verify(r) != nil, "a proof was accepted without a key")
	expect.That(t, !ring.Sign(r), "signed without a key")
}

// The first key signs, so that a new key can be used once every process has both.
func TestKeyring_theFirstKeySigns(t *testing.T) {
	var ring, old Keyring
	ring.Set([]Key{key(t, 1), key(t, 2)})
	old.Set([]Key{key(t, 2)})
	r := replay(key(t, 2))
	expect.Do(t, ring.Verify(r), "signed with the earlier key")
	expect.That(t, ring.Sign(r) && ring.Verify(r) == nil && old.Verify(r) != nil, "not signed with the first key")
}

func TestParseKeys(t *testing.T) {
	const hexKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	const base64Key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	keys, err := ParseKeys(" " + hexKey + " ," + base64Key + "," + strings.TrimRight(base64Key, "="))
	expect.That(t, err == nil && len(keys) == 3 && keys[0].ID() == keys[1].ID() && keys[1].ID() == keys[2].ID() && keys[0].Reveal()[31] == 31, "%d keys, %v", len(keys), err)
	for name, text := range map[string]string{
		"empty": "", "a comma too many": hexKey + ",", "short": hexKey[2:], "no encoding": "?" + hexKey[1:], "short base64": base64Key[4:],
		"long": strings.Repeat("00", maxKeyBytes+1),
	} {
		keys, err := ParseKeys(text)
		if err == nil {
			t.Errorf("%s: got %d keys", name, len(keys))
		} else if len(text) > 40 && strings.Contains(err.Error(), text[:20]) {
			t.Errorf("%s: the error repeats the key: %v", name, err)
		}
	}
}

// No output format of a key or a keyring reveals the secret.
func TestKey_showsNoSecret(t *testing.T) {
	k := must.Get(NewKey([]byte("a secret of the pipeline, 32 byte")))(t)
	var ring Keyring
	ring.Set([]Key{k})
	var text bytes.Buffer
	slog.New(slog.NewJSONHandler(&text, nil)).Info("x", "key", k, "keys", []Key{k}, "ring", &ring)
	asJSON := must.Get(json.Marshal(map[string]any{"key": k, "keys": []Key{k}}))(t)
	text.Write(asJSON)
	fmt.Fprintf(&text, "%v %+v %#v %s %q %x %v %+v %#v", k, k, k, k, k, k, []Key{k}, struct{ K Key }{k}, &ring)
	s := text.String()
	expect.That(t, !strings.Contains(s, "secret of") && !strings.Contains(s, fmt.Sprintf("%x", "secret of")) && !strings.Contains(s, "97 32 115"), "printed as %s", s)
}

// Any header is either an error, or a proof that is encoded to the same text.
func FuzzParse(f *testing.F) {
	f.Add(Proof{KeyID: "e13b5d1b4f3c2ad1"}.String())
	f.Add("1//")
	f.Add("1/0/0")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		expect.That(t, err != nil || p.String() == text, "%q was read as %q", text, p)
	})
}

// The proof of any record is valid, until a byte of the record changes.
func FuzzSign(f *testing.F) {
	f.Add([]byte("k"), []byte("v"), "id", "x", byte(1))
	f.Fuzz(func(t *testing.T, key, value []byte, id, more string, change byte) {
		k := Random()
		var ring Keyring
		ring.Set([]Key{k})
		r := &kgo.Record{Topic: "t", Key: key, Value: value, Headers: []kgo.RecordHeader{headerOf("switchback-dead-letter-id", id), headerOf("x-"+more, more)}}
		k.Sign(r)
		must.Do(t, ring.Verify(r))
		r.Value = append([]byte{change}, r.Value...)
		expect.That(t, ring.Verify(r) != nil, "a changed value has a valid proof")
	})
}
