package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// Reader follows a control topic. It is used by one goroutine.
type Reader struct {
	connection []kgo.Opt
	topic      string
	client     *kgo.Client
	view       View
}

// Open reads the topic to its end, so that the caller knows all orders before it does anything. It waits for the end of
// an open transaction. The caller must Close the reader.
func Open(ctx context.Context, connection []kgo.Opt, topic string) (*Reader, error) {
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, connection...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // the log may end with a transaction marker
		kgo.FetchMaxWait(500*time.Millisecond))...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", topic, err)
	}
	r := &Reader{connection, topic, client, newView()}
	if err := r.patiently(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("read %s: %w", topic, kafka.DeniedTopic("Read", topic, err))
	}
	return r, nil
}

// electionLimit is how long the topic may lack a leader. A restarting broker needs seconds.
const electionLimit = 30 * time.Second

// patiently reads to the end, and waits for a leader if there is none: a consumer that starts while brokers restart must
// not exit because of that.
func (r *Reader) patiently(ctx context.Context) error {
	began := time.Now()
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		err := r.toEnd(ctx, r.topic)
		if !leaderless(err) || time.Since(began)+wait > electionLimit {
			return err
		}
		if kafka.Pause(ctx, wait) != nil {
			return err
		}
	}
}

func leaderless(err error) bool {
	for _, code := range []error{kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.ReplicaNotAvailable, kerr.OffsetNotAvailable} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func (r *Reader) toEnd(ctx context.Context, topic string) error {
	admin := kadm.NewClient(r.client)
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	end, _ := ends.Lookup(topic, 0)
	start, _ := starts.Lookup(topic, 0)
	for r.view.Next < end.Offset && start.Offset < end.Offset {
		fetches := r.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		if _, err := r.take(fetches); err != nil {
			return err
		}
	}
	return nil
}

// take reports whether anything was ordered.
func (r *Reader) take(fetches kgo.Fetches) (changed bool, err error) {
	for record := range fetches.RecordsAll() {
		if record.Attrs.IsControl() {
			r.view.Next = record.Offset + 1
			continue
		}
		if err := r.view.apply(record); err != nil {
			return changed, err
		}
		if !forReplayers(string(record.Key)) {
			changed = true
		}
	}
	return changed, nil
}

// forReplayers reports whether only replayers read the records of a key: they order nothing of a consumer.
func forReplayers(key string) bool {
	return key == leaseKey || slices.ContainsFunc([]string{jobPrefix, jobOrderPrefix, mappingPrefix}, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// View returns the content of the topic as far as it has been read.
func (r *Reader) View() View { return r.view.clone() }

// Follow calls change with each change until the context ends, and then returns nil. While the topic cannot be read (a
// permission was taken away, the topic was deleted), it tries again with growing pauses and calls trouble each time. Once
// it can read the topic again, it calls change with the content from the start. It returns the error of an unreadable
// record, which may be an order.
func (r *Reader) Follow(ctx context.Context, change func(View), trouble func(error)) error {
	for ctx.Err() == nil {
		fetches := r.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to stop
		}
		if faults := fetches.Errors(); len(faults) > 0 {
			if r.recover(ctx, fmt.Errorf("read %s: %w", r.topic, kafka.DeniedTopic("Read", r.topic, faults[0].Err)), trouble) {
				change(r.View())
			}
			continue
		}
		changed, err := r.take(fetches)
		if err != nil {
			return err
		}
		if changed {
			change(r.View())
		}
	}
	return nil
}

// Pauses between two tries to read the topic again.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
)

// recover reads the topic again from its start, as soon as that is possible. It returns false if the context ends first.
func (r *Reader) recover(ctx context.Context, err error, trouble func(error)) bool {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		trouble(err)
		if kafka.Pause(ctx, wait) != nil {
			return false
		}
		var again *Reader
		if again, err = Open(ctx, r.connection, r.topic); err != nil {
			continue
		}
		r.client.Close()
		r.client, r.view = again.client, again.view
		r.view.Again = true
		return true
	}
}

// Close ends the reader.
func (r *Reader) Close() { r.client.Close() }

// Read returns the current content of the topic.
func Read(ctx context.Context, connection []kgo.Opt, topic string) (View, error) {
	r, err := Open(ctx, connection, topic)
	if err != nil {
		return View{}, err
	}
	defer r.Close()
	return r.View(), nil
}
