package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/proof"
)

// The keys of the topic.
const (
	pipelineKey = "pipeline"
	batchPrefix = "batch/"
	chainKey    = "chain" // → the place of the latest order in the hash chain of orders, an audit.Head as JSON
)

// PipelineRecord returns the record of an order for the pipeline.
func PipelineRecord(topic string, s State) (*kgo.Record, error) {
	if s.Phase == Quarantined {
		return nil, fmt.Errorf("a pipeline cannot be %s", s.Phase)
	}
	value, err := s.encode()
	if err != nil {
		return nil, err
	}
	return &kgo.Record{Topic: topic, Key: []byte(pipelineKey), Value: value}, nil
}

// BatchRecord returns the record that quarantines a batch, or the one that ends the quarantine if s is not Quarantined.
func BatchRecord(topic, id string, s State) (*kgo.Record, error) {
	if id == "" {
		return nil, fmt.Errorf("a batch without an id cannot be %s", s.Phase)
	}
	r := &kgo.Record{Topic: topic, Key: []byte(batchPrefix + id)}
	if s.Phase != Quarantined {
		return r, nil
	}
	var err error
	r.Value, err = s.encode()
	return r, err
}

// View is the content of the topic up to one of its offsets.
type View struct {
	Pipeline  State               // zero except for Running if nothing was ever ordered
	Batches   map[string]State    // quarantined ones by ID
	Ordered   int64               // offset of the latest order for the pipeline, -1 if nothing was ever ordered
	Next      int64               // offset after the last record in the view
	Keys      []proof.Key         // replay keys in the order of the topic; the first one signs
	Head      audit.Head          // of the hash chain of orders in the audit topic; zero if there is none
	Lease     *Lease              // the replayer at work; nil if there is none
	Jobs      map[string]Job      // of replayers, running and ended, by ID
	JobOrders map[string]JobOrder // the latest for each job, by job ID
	Notes     map[string]Note     // on groups of dead letters, by group ID
	Mappings  map[string]Mapping  // that instances published, by fingerprint
	Again     bool                // read again from the start: Next may be smaller than that of an earlier view

	orderedB map[string]int64 // offset of the latest order for a batch, including the end of its quarantine
}

// ChainHeads returns the heads of the hash chain of orders, by partition of the audit topic.
func (v View) ChainHeads() map[int32]audit.Head {
	if v.Head.Seq == 0 {
		return nil
	}
	return map[int32]audit.Head{chainPartition: v.Head}
}

func newView() View {
	return View{
		Pipeline: State{Phase: Running}, Batches: map[string]State{}, Ordered: -1, orderedB: map[string]int64{},
		Jobs: map[string]Job{}, JobOrders: map[string]JobOrder{}, Notes: map[string]Note{}, Mappings: map[string]Mapping{},
	}
}

// ViewOf returns the content of records, in their order.
func ViewOf(records []*kgo.Record) (View, error) {
	v := newView()
	for _, r := range records {
		if err := v.apply(r); err != nil {
			return View{}, err
		}
	}
	return v, nil
}

// clone returns an independent copy.
func (v View) clone() View {
	v.Batches, v.orderedB = maps.Clone(v.Batches), maps.Clone(v.orderedB)
	v.Jobs, v.JobOrders, v.Notes = maps.Clone(v.Jobs), maps.Clone(v.JobOrders), maps.Clone(v.Notes)
	v.Mappings = maps.Clone(v.Mappings)
	return v
}

// apply applies one record. It ignores a key of a later version; an unreadable value is an error.
func (v *View) apply(r *kgo.Record) error {
	v.Next = max(v.Next, r.Offset+1)
	key := string(r.Key)
	slash := strings.IndexByte(key, '/') + 1
	prefix, id := key[:slash], key[slash:]
	isBatch := prefix == batchPrefix
	switch prefix {
	case replayKeyPrefix:
		return v.applyKey(id, r)
	case jobPrefix:
		v.applyJob(id, r.Value)
		return nil
	case jobOrderPrefix:
		v.applyJobOrder(id, r.Value)
		return nil
	case notePrefix:
		v.applyNote(id, r.Value)
		return nil
	case mappingPrefix:
		v.applyMapping(id, r.Value)
		return nil
	}
	if key == leaseKey {
		if later := readLease(r.Value); !v.Lease.outlives(later) {
			v.Lease = later
		}
		return nil
	}
	if key == chainKey && r.Value != nil {
		if err := json.Unmarshal(r.Value, &v.Head); err != nil {
			return unreadable(r, err)
		}
		return nil
	}
	switch {
	case key != pipelineKey && !isBatch:
		return nil
	case r.Value == nil && isBatch:
		delete(v.Batches, id)
		v.orderedB[id] = r.Offset
		return nil
	case r.Value == nil:
		v.Pipeline, v.Ordered = State{Phase: Running}, r.Offset
		return nil
	}
	s, err := decode(r.Value)
	if err == nil && isBatch != (s.Phase == Quarantined) {
		err = fmt.Errorf("state %q does not match its key", s.Phase)
	}
	if err != nil {
		return unreadable(r, err)
	}
	if isBatch {
		v.Batches[id], v.orderedB[id] = s, r.Offset
	} else {
		v.Pipeline, v.Ordered = s, r.Offset
	}
	return nil
}

// unreadable returns the error of a record that cannot be read.
func unreadable(r *kgo.Record, err error) error {
	return fmt.Errorf("control record %q in %s/%d/%d: %w", r.Key, r.Topic, r.Partition, r.Offset, err)
}

// replayKeyPrefix precedes the ID in the key of a record with a replay key.
const replayKeyPrefix = "replay-key/"

// keyWire is the value of a key's record. It is the only secret in the topic: anyone who can read the topic can sign
// replays.
type keyWire struct {
	Version int       `json:"version"`
	Key     []byte    `json:"key"` // base64
	At      time.Time `json:"at"`
}

// keyRecord returns the record with a key.
func keyRecord(topic string, k proof.Key, at time.Time) (*kgo.Record, error) {
	value, err := json.Marshal(keyWire{version, k.Reveal(), at.UTC().Truncate(time.Millisecond)})
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
	var w keyWire
	if json.Unmarshal(r.Value, &w) != nil || w.Version < 1 {
		return unreadable(r, fmt.Errorf("it is not a replay key; to get a new one, delete it with a tombstone for its key"))
	}
	if w.Version > version {
		return unreadable(r, fmt.Errorf("version %d: %w", w.Version, ErrNewer))
	}
	key, err := proof.NewKey(w.Key)
	if err != nil {
		return unreadable(r, err)
	}
	if key.ID() != id {
		return unreadable(r, fmt.Errorf("it has the replay key %s", key.ID()))
	}
	v.Keys = append(v.Keys, key)
	return nil
}

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
	client, err := connect(connection)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
		return nil, fmt.Errorf("write a replay key to %s: %w", topic, kafka.DeniedTopic("Write", topic, err))
	}
	view, err = Read(ctx, connection, topic)
	if err == nil && len(view.Keys) == 0 {
		err = fmt.Errorf("the replay key just written to %s is missing: check which program deletes records of this topic", topic)
	}
	return view.Keys, err
}
