package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/proof"
)

// replayKeyPrefix precedes the ID in the key of a record with a replay key.
const replayKeyPrefix = "replay-key/"

// keyWire is the value of such a record. It is the only secret in the topic: anyone who can read the topic can sign
// replays.
type keyWire struct {
	Version int    `json:"version"`
	Key     []byte `json:"key"` // base64
	At      string `json:"at"`
}

// keyRecord returns the record with a key.
func keyRecord(topic string, k proof.Key, at time.Time) (*kgo.Record, error) {
	value, err := json.Marshal(keyWire{version, k.Reveal(), at.UTC().Format(timeLayout)})
	if err != nil {
		return nil, fmt.Errorf("encode replay key %s: %w", k.ID(), err)
	}
	return &kgo.Record{Topic: topic, Key: []byte(replayKeyPrefix + k.ID()), Value: value}, nil
}

// applyKey applies a record with a key, or its tombstone. The errors do not repeat the value.
func (v *View) applyKey(id string, r *kgo.Record) error {
	v.Keys = slices.DeleteFunc(slices.Clone(v.Keys), func(k proof.Key) bool { return k.ID() == id })
	if r.Value == nil {
		return nil
	}
	fault := func(err error) error {
		return fmt.Errorf("control record %q in %s/%d/%d: %w", r.Key, r.Topic, r.Partition, r.Offset, err)
	}
	var w keyWire
	if json.Unmarshal(r.Value, &w) != nil || w.Version < 1 {
		return fault(fmt.Errorf("it holds no replay key; to have a new one made, delete it with a tombstone for its key"))
	}
	if w.Version > version {
		return fault(fmt.Errorf("version %d: %w", w.Version, ErrNewer))
	}
	key, err := proof.NewKey(w.Key)
	if err != nil {
		return fault(err)
	}
	if key.ID() != id {
		return fault(fmt.Errorf("it holds the replay key %s", key.ID()))
	}
	v.Keys = append(v.Keys, key)
	return nil
}

// replayKeyID returns the ID of a record's replay key.
func replayKeyID(key string) (id string, ok bool) { return strings.CutPrefix(key, replayKeyPrefix) }

// Keys returns the replay keys in the topic, in its order, and creates one if there is none. The first one signs. Of
// several processes that create one at the same time, each reads the topic again after its own, so all of them find the
// same first one.
func Keys(ctx context.Context, connection []kgo.Opt, topic string, now time.Time) ([]proof.Key, error) {
	view, err := Read(ctx, connection, topic)
	if err != nil || len(view.Keys) > 0 {
		return view.Keys, err
	}
	r, err := keyRecord(topic, proof.Random(), now)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, connection...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
		return nil, fmt.Errorf("write a replay key to %s: %w", topic, kafka.DeniedTopic("Write", topic, err))
	}
	view, err = Read(ctx, connection, topic)
	if err == nil && len(view.Keys) == 0 {
		err = fmt.Errorf("the replay key just written to %s is not there: somebody empties the topic", topic)
	}
	return view.Keys, err
}
