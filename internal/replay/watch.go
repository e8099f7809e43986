package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
)

// watch follows the progress of a consumer group through the records that were put back from a DLQ without a
// pipeline.
//
// It proves that the group has committed beyond a record. It does not prove that the consumer succeeded: a failure
// appears in the DLQ when the record dies again.
type watch struct {
	client *kgo.Client
	admin  *kadm.Client
	group  string
	last   map[transaction.Partition]int64 // last offset to pass in each partition
}

func (s *Service) newWatch(group string) *watch {
	return &watch{client: s.client, admin: kadm.NewClient(s.client), group: group, last: map[transaction.Partition]int64{}}
}

// earlier adds topics into which records were put back at unknown offsets. The group must pass the last record that
// each partition has now. It need not pass a transaction marker behind that record, since a Java consumer commits it
// only together with a later record.
func (w *watch) earlier(ctx context.Context, topics []string) error {
	if w == nil {
		return nil
	}
	for _, topic := range topics {
		spans, err := kafka.DecidedSpans(ctx, w.client, topic)
		if err != nil {
			return err
		}
		for p, span := range spans {
			last, err := lastRecord(ctx, w.client, topic, p, span)
			if err != nil {
				return err
			}
			if last >= 0 {
				w.sent(transaction.Partition{Topic: topic, ID: p}, last)
			}
		}
	}
	return nil
}

// lastRecord returns the offset of the last record in a span, or -1 if the span has only markers and aborted records.
func lastRecord(ctx context.Context, client *kgo.Client, topic string, p int32, span kafka.Span) (last int64, err error) {
	last = -1
	note := func(r *kgo.Record) error {
		last = r.Offset
		return nil
	}
	large := func(l *recordbatch.Large) error {
		last = l.Last
		return nil
	}
	for back := int64(16); ; back *= 16 {
		tail := kafka.Span{Start: max(span.Start, span.End-back), End: span.End}
		if err := kafka.ScanWith(ctx, client, topic, map[int32]kafka.Span{p: tail}, 1, note, large); err != nil {
			return 0, fmt.Errorf("find the last record of %s/%d: %w", topic, p, kafka.DeniedTopic("Read", topic, err))
		}
		if last >= 0 || tail.Start == span.Start {
			return last, nil
		}
	}
}

// sent adds the offset of a record that was put back.
func (w *watch) sent(at transaction.Partition, offset int64) {
	if w != nil {
		w.last[at] = max(w.last[at], offset)
	}
}

// behind returns how many offsets, including transaction markers, the group has left to pass all records that were
// put back. It returns 0 without a watch.
func (w *watch) behind(ctx context.Context) (offsets int64, err error) {
	if w == nil || len(w.last) == 0 {
		return 0, nil
	}
	topics := map[string]bool{}
	for at := range w.last {
		topics[at.Topic] = true
	}
	lags, err := kafka.Lag(ctx, w.admin, w.group, kafka.Written, slices.Sorted(maps.Keys(topics))...)
	if err != nil {
		return 0, err
	}
	for topic, partitions := range lags {
		for _, p := range partitions {
			last, sent := w.last[transaction.Partition{Topic: topic, ID: p.Partition}]
			from := p.End - p.Lag // the committed offset, or the start of the partition
			if sent && from <= last {
				offsets += last + 1 - from
			}
		}
	}
	return offsets, nil
}

// checkWatch returns an error if the group does not exist, since the replay would wait for it in vain.
func (s *Service) checkWatch(ctx context.Context, group string) error {
	if group == "" {
		return nil
	}
	if !s.alone {
		return fmt.Errorf("%w: --watch-group is for a DLQ without a pipeline: a pipeline's consumer reports the outcome of each dead letter", operation.ErrOptions)
	}
	g, err := kafka.DescribeGroup(ctx, kadm.NewClient(s.client), group)
	if err != nil {
		return err
	}
	if len(g.Members) > 0 {
		return nil
	}
	committed, err := kadm.NewClient(s.client).FetchOffsets(ctx, group)
	if err != nil || len(committed) == 0 {
		return fmt.Errorf("%w: --watch-group %s: there is no such consumer group, or it has committed nothing", operation.ErrOptions, group)
	}
	return nil
}

// consumed has the counts at the time when the watched group had passed all records and the grace was over.
type consumed struct {
	letters int // put back and not dead again
	failed  int // dead again
	sent    int // put back
}

// noteGroupPassed stores that the watched group has passed all records and the grace is over.
func (r *replaying) noteGroupPassed() {
	if r.watch != nil {
		failed := r.outcomes.Counts.FailedAgain
		r.consumed = consumed{letters: max(r.sent-failed, 0), failed: failed, sent: r.sent}
	}
}

// groupPassed reports whether nothing was put back since the watched group passed all records.
func (r *replaying) groupPassed() bool { return r.watch != nil && r.consumed.sent == r.sent }

// watched returns the progress of the watched group for the job's record. A dead letter that died again after the
// group passed it is not consumed.
func (r *replaying) watched() control.JobWatch {
	if r.watch == nil || r.outcomes == nil {
		return control.JobWatch{}
	}
	failed := r.outcomes.Counts.FailedAgain
	w := control.JobWatch{Group: r.watch.group, Consumed: max(0, r.consumed.letters-(failed-r.consumed.failed)), Through: r.watch.through()}
	w.Waiting = max(0, r.sent-failed-w.Consumed)
	return w
}

// withConsumed adds the progress of the watched group to an outcome.
func (r *replaying) withConsumed(o states.Counts) states.Counts {
	if r.watch != nil {
		w := r.watched()
		o.Consumed, o.UnderWay = w.Consumed, w.Waiting
	}
	return o
}

// closing returns the audit event about the watched group, or nil without one.
func (r *replaying) closing() *audit.Event {
	w := r.watched()
	if w.Group == "" || r.sent == 0 {
		return nil
	}
	e := r.op.Started(r.service.now(), r.letters)
	e.Decision, e.Filter, e.Force = audit.Watched, "", ""
	e.Message = fmt.Sprintf("group %s: %d consumed, %d died again, %d waiting, through %s", w.Group, w.Consumed, r.outcomes.Counts.FailedAgain, w.Waiting, w.Through)
	return e
}

// maxThrough bounds the partitions that a job and an audit event name.
const maxThrough = 100

// through names the last record in each partition that the group must pass.
func (w *watch) through() string {
	var parts []string
	at := slices.SortedFunc(maps.Keys(w.last), func(a, b transaction.Partition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range at[:min(len(at), maxThrough)] {
		parts = append(parts, fmt.Sprintf("%s/%d/%d", p.Topic, p.ID, w.last[p]))
	}
	if more := len(at) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more partitions", more))
	}
	return strings.Join(parts, ", ")
}
