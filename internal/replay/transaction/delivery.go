package transaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// Partition is one partition of one topic.
type Partition struct {
	Topic string
	ID    int32
}

// delivery collects the results of the records of one transaction. The client's goroutines may call its methods.
type delivery struct {
	id      string // transactional ID of the writer
	mu      sync.Mutex
	err     error // the first one
	refused *Change
	last    map[Partition]int64 // offset of the last written record
	unsent  map[Partition]int   // bytes that the broker has not acknowledged
	heard   chan struct{}       // receives after each result
}

func newDelivery(id string, last map[Partition]int64) *delivery {
	return &delivery{id: id, last: last, unsent: map[Partition]int{}, heard: make(chan struct{}, 1)}
}

// sending counts records that are passed to the client.
func (d *delivery) sending(records []*kgo.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range records {
		d.unsent[Partition{r.Topic, r.Partition}] += sizeOf(r)
	}
}

// room waits until records may be sent: until the unacknowledged bytes of each partition together with them are at
// limit, or there are none. It returns the first error.
func (d *delivery) room(ctx context.Context, records []*kgo.Record, limit int) error {
	for {
		if fits, err := d.fits(records, limit); fits || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("send a replay transaction: %w", ctx.Err())
		case <-d.heard:
		}
	}
}

func (d *delivery) fits(records []*kgo.Record, limit int) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range records {
		if before := d.unsent[Partition{r.Topic, r.Partition}]; before > 0 && before+sizeOf(r) > limit {
			return false, d.err
		}
	}
	return true, d.err
}

// note takes the result of one record, which belongs to a dead letter or (nil) to the whole transaction.
func (d *delivery) note(change *Change, r *kgo.Record, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.wake()
	at := Partition{r.Topic, r.Partition}
	err = kafka.DeniedProduce(d.id, r.Topic, err)
	d.unsent[at] -= sizeOf(r)
	switch {
	case err == nil:
		d.last[at] = max(d.last[at], r.Offset)
		if change != nil && change.Sends && r.Topic == change.Record.Topic {
			change.SentTo, change.Offset = at, r.Offset
		}
	case d.err == nil:
		if change == nil {
			d.err = fmt.Errorf("write to %s/%d: %w", r.Topic, r.Partition, named(err))
			return
		}
		d.err = fmt.Errorf("write to %s/%d for dead letter %s: %w", r.Topic, r.Partition, change.Letter.ID, named(err))
		if errors.Is(err, kerr.MessageTooLarge) && change.Record != nil {
			d.refused = change
		}
	}
}

// wake lets room check again.
func (d *delivery) wake() {
	select {
	case d.heard <- struct{}{}:
	default:
	}
}

// end returns a refused dead letter, after which the execution continues, or an error, after which it does not: the
// first result, otherwise err.
func (d *delivery) end(err error) (*Change, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused != nil {
		return d.refused, nil
	}
	return nil, cmp.Or(d.err, err)
}

const (
	visibleTimeout = 3 * time.Second
	visiblePause   = 20 * time.Millisecond
)

// WaitVisible waits until readers can see what was written. A broker acknowledges a commit before it has written the
// markers that make it visible, so a list right after a replay could still show dead letters as pending. Another open
// transaction in the same partition hides it too, so the wait is limited. Nothing depends on it.
func (w *Writer) WaitVisible(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	status := w.config.Store.Topics.DLQStatus
	for w.files == nil {
		ends, err := kadm.NewClient(w.client).ListCommittedOffsets(ctx, status)
		if err != nil || w.visible(status, ends) {
			return
		}
		if kafka.Pause(ctx, visiblePause) != nil {
			return
		}
	}
}

func (w *Writer) visible(topic string, ends kadm.ListedOffsets) bool {
	for at, last := range w.written {
		if end, ok := ends.Lookup(at.Topic, at.ID); at.Topic == topic && ok && end.Offset <= last {
			return false
		}
	}
	return true
}
