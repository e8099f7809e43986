package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// leaseKey is the key of the record about the replayer at work.
const leaseKey = "lease/replayer"

// Lease names the replayer that is at work, with its start time and purpose. It informs people and lets replayers wait
// for each other. The transactional ID ensures that two replayers never write at the same time (docs/decisions/0002).
type Lease struct {
	Token     string    `json:"token"`     // of this holder alone
	Owner     string    `json:"owner"`     // a person and a machine
	Operation string    `json:"operation"` // the operation's id
	Purpose   string    `json:"purpose"`   // the operation, and its reason
	Since     time.Time `json:"since"`
	Renewed   time.Time `json:"renewed"` // by the holder's clock; renewed as long as the holder is alive
	// Generation is one more than that of the previous lease. Renewals by a previous holder are ignored.
	Generation int64 `json:"generation"`
	Released   bool  `json:"released,omitempty"` // the holder has ended; the holder that took over from it can still read its name
}

// leaseWire is the JSON of a lease.
type leaseWire struct {
	Version int `json:"version"`
	Lease
}

// clipped returns the lease with texts and times in their written form.
func (l Lease) clipped() Lease {
	l.Owner, l.Operation, l.Purpose = header.Clip(l.Owner, maxLeaseText), header.Clip(l.Operation, maxLeaseText), header.Clip(l.Purpose, maxLeaseText)
	l.Since, l.Renewed = l.Since.UTC(), l.Renewed.UTC()
	return l
}

// String returns holder, start time and purpose.
func (l Lease) String() string {
	return fmt.Sprintf("%s, since %s, for %s (%s)", l.Owner, l.Since.UTC().Format(time.RFC3339), l.Operation, l.Purpose)
}

// maxLeaseText bounds the texts of a lease.
const maxLeaseText = 512

// readLease parses a lease. An unreadable one counts as none: it protects nothing.
func readLease(value []byte) *Lease {
	var w leaseWire
	if value == nil || json.Unmarshal(value, &w) != nil || w.Token == "" {
		return nil
	}
	l := w.clipped()
	return &l
}

// outlives reports whether a lease is in force although another one was written after it, because its holder took over
// from that one. l may be nil.
func (l *Lease) outlives(later *Lease) bool {
	return l != nil && (later == nil || later.Generation < l.Generation)
}

// Outlives reports whether a record of the control topic is in force although a later record of the same key exists. A
// store with one record per key must then keep the earlier record.
func Outlives(r, later *kgo.Record) bool {
	return string(r.Key) == leaseKey && readLease(r.Value).outlives(readLease(later.Value))
}

// Leases writes the shared records of one pipeline's replayers: the lease, their jobs, and the orders for jobs.
type Leases struct {
	put   func(context.Context, ...*kgo.Record) error
	close func()
	topic string
}

// OpenLeases connects to the brokers when the first lease is written. The caller must Close it.
func OpenLeases(kafka []kgo.Opt, topic string) (*Leases, error) {
	client, err := connect(kafka)
	if err != nil {
		return nil, err
	}
	return &Leases{func(ctx context.Context, records ...*kgo.Record) error { return produce(ctx, client, topic, records) }, client.Close, topic}, nil
}

// LeasesBy returns Leases that write with a function, to a replacement of the topic.
func LeasesBy(put func(context.Context, ...*kgo.Record) error, topic string) *Leases {
	return &Leases{put, func() {}, topic}
}

// Put writes a lease, in place of the earlier one. It returns when ctx ends, even if a broker does not answer; the lease
// may then still be written later.
func (l *Leases) Put(ctx context.Context, lease Lease) error {
	return l.write(ctx, "a lease", leaseKey, leaseWire{version, lease.clipped()})
}

// write writes a record as JSON; what is its name in errors.
func (l *Leases) write(ctx context.Context, what, key string, content any) error {
	value, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", what, err)
	}
	if err := l.put(ctx, &kgo.Record{Key: []byte(key), Value: value}); err != nil {
		return fmt.Errorf("write %s to %s: %w", what, l.topic, err)
	}
	return nil
}

// Close ends the connections.
func (l *Leases) Close() { l.close() }

// PutJob writes a job, in place of the earlier record.
func (l *Leases) PutJob(ctx context.Context, j Job) error {
	return l.write(ctx, "a job", jobPrefix+j.ID, jobWire{version, j.clipped()})
}

// PutJobOrder writes an order for a job.
func (l *Leases) PutJobOrder(ctx context.Context, id string, o JobOrder) error {
	o.By, o.At = header.Clip(o.By, maxLeaseText), o.At.UTC()
	return l.write(ctx, "an order for a job", jobOrderPrefix+id, jobOrderWire{version, o})
}

// RemoveJobOrder removes the order for a job that has ended.
func (l *Leases) RemoveJobOrder(ctx context.Context, id string) error {
	return l.put(ctx, &kgo.Record{Key: []byte(jobOrderPrefix + id)})
}

// RemoveJobs removes jobs, with the orders for them.
func (l *Leases) RemoveJobs(ctx context.Context, ids []string) error {
	var records []*kgo.Record
	for _, id := range ids {
		records = append(records, &kgo.Record{Key: []byte(jobPrefix + id)}, &kgo.Record{Key: []byte(jobOrderPrefix + id)})
	}
	return l.put(ctx, records...)
}

// produce writes records and waits for them until ctx ends. A broker that does not answer may still get them later.
func produce(ctx context.Context, client *kgo.Client, topic string, records []*kgo.Record) error {
	written := make(chan error, len(records))
	for _, r := range records {
		r.Topic = topic
		// One canceled record would fail the others of its batch, so none is canceled.
		client.Produce(context.WithoutCancel(ctx), r, func(_ *kgo.Record, err error) { written <- err })
	}
	for range records {
		select {
		case err := <-written:
			if err != nil {
				return kafka.DeniedTopic("Write", topic, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
