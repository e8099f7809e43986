package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Limits of the memory of one record.
const (
	MaxValue  = 8 << 20 // bytes of a value, unless the caller sets another limit
	restBytes = 1 << 20 // of the key besides it
	// MaxHeaders is the memory of a record's headers in bytes, 40 each besides name and value.
	MaxHeaders = 32 << 20
)

const (
	fetchBytes = 4 << 20                // of one response; bounds the memory of a scan
	fewBytes   = 16 << 10               // of a response, per wanted record; a larger record is sent nevertheless
	maxIdle    = 40                     // responses without progress before a scan fails
	retryPause = 250 * time.Millisecond // before a failed request is repeated
)

// errStalled means that a scan made no progress although the broker had named an end.
var errStalled = errors.New("the broker answers but returns no records up to the offset that it reported")

// Scan reads the given spans of a topic with read_committed and calls fn for each record, one partition after another,
// in offset order. It ends exactly at the end of each span.
//
// It sends its own fetch requests instead of polling a consumer. A consumer gives no sign when only transaction markers,
// aborted records or compacted offsets are left before the end, so a loop that waits for the last record would wait
// forever. The position after each response is exact. One response is in memory at a time, compressed, and some
// decompressed records; fn must not keep records longer than it needs. An error of fn ends the scan and is returned
// unchanged.
//
// A record whose value has more than [MaxValue] bytes is an error that names it: see [ScanWith].
func Scan(ctx context.Context, cl *kgo.Client, topic string, spans map[int32]Span, fn func(*kgo.Record) error) error {
	return ScanWith(ctx, cl, topic, spans, 0, fn, func(l *recordbatch.Large) error { return errors.New(l.String()) })
}

// ScanWith is [Scan] for a caller that can continue without the value of a record that is too large for memory; it
// passes such a record to large. Values of up to maxValue bytes are read; 0 is [MaxValue].
func ScanWith(
	ctx context.Context, cl *kgo.Client, topic string, spans map[int32]Span, maxValue int, fn func(*kgo.Record) error, large func(*recordbatch.Large) error,
) error {
	s := NewScanner(cl, topic, maxValue)
	s.keeps = false
	defer s.Close()
	return s.Scan(ctx, spans, fn, large)
}

// Scanner reads spans of a topic, one call after another. It does not decompress a batch again whose rest is in the next
// span of its partition. One goroutine uses and closes it.
type Scanner struct {
	cl      *kgo.Client
	topic   string
	fn      func(*kgo.Record) error
	large   func(*recordbatch.Large) error
	limits  recordbatch.Limits
	keeps   bool // readers, because the same partitions are read again
	readers map[int32]*recordbatch.Reader
	reader  *recordbatch.Reader // of the current partition
}

// NewScanner returns a scanner for values of up to maxValue bytes; 0 is [MaxValue].
func NewScanner(cl *kgo.Client, topic string, maxValue int) *Scanner {
	return &Scanner{
		cl: cl, keeps: true, topic: topic, limits: recordbatch.Limits{Record: cmp.Or(maxValue, MaxValue) + restBytes, Headers: MaxHeaders, Keep: dialects.OfAny}, readers: map[int32]*recordbatch.Reader{},
	}
}

// Close frees the memory that is kept between calls.
func (s *Scanner) Close() {
	for _, reader := range s.readers {
		reader.Close()
	}
}

// Scan is [ScanWith] for some spans.
func (s *Scanner) Scan(ctx context.Context, spans map[int32]Span, fn func(*kgo.Record) error, large func(*recordbatch.Large) error) error {
	s.fn, s.large = fn, large
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		if s.reader = s.readers[p]; s.reader == nil {
			s.reader = recordbatch.NewReader(s.topic, p, s.limits)
			s.readers[p] = s.reader
		}
		err := s.partition(ctx, p, spans[p], func(answer *kmsg.FetchResponseTopicPartition, at, end int64) (int64, error) {
			return s.reader.Each(ctx, answer, at, end,
				func(r *kgo.Record) error { return ours(s.fn(r)) },
				func(l *recordbatch.Large) error { return ours(s.large(l)) })
		})
		if !s.keeps {
			s.reader.Close()
			delete(s.readers, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// use reads an answer without an error from one offset up to another one. It returns the next offset.
type use func(answer *kmsg.FetchResponseTopicPartition, at, end int64) (next int64, err error)

// partition reads one span.
func (s *Scanner) partition(ctx context.Context, p int32, span Span, read use) error {
	var leader leader
	var last error
	for at, idle := span.Start, 0; at < span.End; {
		if idle > maxIdle {
			return fmt.Errorf("read %s/%d at offset %d of %d: %w", s.topic, p, at, span.End, cmp.Or(last, errStalled))
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read %s/%d: %w", s.topic, p, err)
		}
		next, err := s.step(ctx, &leader, p, at, span.End, read)
		if consumer := (*consumerError)(nil); errors.As(err, &consumer) {
			return consumer.err
		}
		if err != nil && !transient(err) {
			return fmt.Errorf("read %s/%d at offset %d: %w", s.topic, p, at, DeniedTopic("Read", s.topic, err))
		}
		if err != nil || next <= at {
			last = err
			idle++
			leader.known = false
			if err := Pause(ctx, retryPause); err != nil {
				return fmt.Errorf("read %s/%d: %w", s.topic, p, err)
			}
			continue
		}
		at, idle = next, 0
	}
	return nil
}

// consumerError distinguishes an error of the callback from those of the broker.
type consumerError struct{ err error }

func (e *consumerError) Error() string { return e.err.Error() }

// step fetches once from offset at and reads the answer up to end. It returns the next offset.
func (s *Scanner) step(ctx context.Context, l *leader, p int32, at, end int64, read use) (int64, error) {
	if err := l.find(ctx, s.cl, s.topic, p); err != nil {
		return at, err
	}
	answer, err := s.fetch(ctx, l, p, at, answerBytes(end-at))
	if err != nil {
		return at, err
	}
	switch err := kerr.ErrorForCode(answer.ErrorCode); {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return s.remains(ctx, p, at)
	case err != nil:
		return at, err
	}
	return read(answer, at, end)
}

// ours marks an error of a callback.
func ours(err error) error {
	if err == nil {
		return nil
	}
	return &consumerError{err}
}

// remains returns the next offset if retention deleted the records at an offset. Apache Kafka does not report it in a
// fetch response (LogStartOffset is -1 there), so it is requested.
func (s *Scanner) remains(ctx context.Context, p int32, at int64) (int64, error) {
	starts, err := kadm.NewClient(s.cl).ListStartOffsets(ctx, s.topic)
	if err != nil {
		return at, err
	}
	start, ok := starts.Lookup(s.topic, p)
	switch {
	case !ok:
		return at, kerr.UnknownTopicOrPartition
	case start.Err != nil:
		return at, start.Err
	case start.Offset <= at: // it ends before: promised records are missing
		return at, kerr.OffsetOutOfRange
	}
	return start.Offset, nil
}

// answerBytes bounds a response by the number of wanted records: a broker sends a whole batch anyway.
func answerBytes(records int64) int32 {
	return int32(min(max(records, 1)*fewBytes, fetchBytes))
}

func (s *Scanner) fetch(ctx context.Context, l *leader, p int32, at int64, limit int32) (*kmsg.FetchResponseTopicPartition, error) {
	raw, err := s.cl.Broker(int(l.broker)).RetriableRequest(ctx, recordbatch.Request(s.topic, l.topicID, p, at, limit))
	if err != nil {
		return nil, err
	}
	return recordbatch.AnswerOf(raw, p)
}

// transient reports whether another try, after asking for the partition's leader again, can help.
func transient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if ke := (*kerr.Error)(nil); errors.As(err, &ke) {
		return ke.Retriable
	}
	return kgo.IsRetryableBrokerErr(err)
}

// leader is the broker that leads a partition, if it is known.
type leader struct {
	known   bool
	broker  int32
	topicID [16]byte
}

// find requests the leader unless it is known.
func (l *leader) find(ctx context.Context, cl *kgo.Client, topic string, partition int32) error {
	if l.known {
		return nil
	}
	details, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return fmt.Errorf("look up topic %s: %w", topic, DeniedTopic("Describe", topic, err))
	}
	detail := details[topic]
	if detail.Err != nil {
		return detail.Err
	}
	part, ok := detail.Partitions[partition]
	if !ok {
		return kerr.UnknownTopicOrPartition
	}
	if part.Err != nil {
		return part.Err
	}
	if part.Leader < 0 {
		return kerr.LeaderNotAvailable
	}
	l.known, l.broker, l.topicID = true, part.Leader, detail.ID
	return nil
}

// Log is a source of records: a [Cluster], or files that replace topics.
type Log interface {
	// Spans returns the readable span of each partition of a topic.
	Spans(ctx context.Context, topic string) (map[int32]Span, error)
	// Scan reads spans of a topic, as [ScanWith] does.
	Scan(ctx context.Context, topic string, spans map[int32]Span, fn func(*kgo.Record) error, large func(*recordbatch.Large) error) error
}

// Cluster is the [Log] of a cluster.
type Cluster struct{ Client *kgo.Client }

// Spans implements [Log].
func (c Cluster) Spans(ctx context.Context, topic string) (map[int32]Span, error) {
	return Spans(ctx, c.Client, topic)
}

// Scan implements [Log].
func (c Cluster) Scan(ctx context.Context, topic string, spans map[int32]Span, fn func(*kgo.Record) error, large func(*recordbatch.Large) error) error {
	return ScanWith(ctx, c.Client, topic, spans, 0, fn, large)
}
