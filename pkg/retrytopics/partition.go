package retrytopics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// sourceTier is the tier number of a partition of the source topic.
const sourceTier = -1

// topicPartition names a partition.
type topicPartition struct {
	topic     string
	partition int32
}

// partition is one partition of the source or of a tier while this instance owns it. The session's mutex guards it.
type partition struct {
	topicPartition
	tier      int // index of the tier, or sourceLane
	state     *partitionState
	ctx       context.Context // of the handlers of its records; ends with the partition
	cancel    context.CancelFunc
	dead      bool // the partition is gone; what its tasks still do is not heard. The scheduler's mutex guards it
	gate      gate
	fetched   int64 // records taken
	window    *offsets.Window
	committed offsets.Commit
	shared    bool // of a tier: it has records of another pipeline
	sealed    bool // the commit that the partition began with was made with a checkpoint
	held      int  // records taken and not yet committed as finished
	heldOwn   int  // those of them that this owner has put there
	heldBytes int
	paused    bool
	fetchAt   time.Time  // not read before, as a fetch failed
	fetchTold time.Time  // when the last failed fetch was logged
	large     *largeRead // the large batch that the client stands before; nil when there is none
	began     int64      // where the log started when this owner first heard; -1 before
	start     int64      // where it starts, as far as is known
	end       int64      // last known end of the partition (last stable offset)
	own       int64      // of a tier: offset of the first record that this owner has put there; none has that offset before
	written   int        // own records that the client has not given back yet
	stamps    []stamp
	slab      []task // not used yet. The scheduler's mutex guards it
}

// stamp says from which record on others have a time, for the lag.
type stamp struct {
	offset int64
	at     time.Time
}

// wrote notes a committed record of the partition's own number. A number has one owner, so all that follow are own ones, too.
func (l *partition) wrote(offset int64) {
	l.own = min(l.own, offset)
	l.written++
}

// stampEvery is how much later than the stamp before a record must be to get one of its own.
const stampEvery = 10 * time.Millisecond

// stamp notes the time of a taken record.
func (l *partition) stamp(r *kgo.Record) {
	if n := len(l.stamps); n > 0 {
		if later := r.Timestamp.Sub(l.stamps[n-1].at); later >= 0 && later < stampEvery {
			return
		}
		if n == cap(l.stamps) {
			l.oldest() // makes room, perhaps
		}
	}
	l.stamps = append(l.stamps, stamp{r.Offset, r.Timestamp})
}

// oldest gives the time of the first unfinished record, or of the last one taken when the broker has more, to within
// stampEvery; zero when nothing is known.
func (l *partition) oldest() time.Time {
	if len(l.stamps) == 0 {
		return time.Time{}
	}
	passed := 0
	for passed < len(l.stamps)-1 && l.stamps[passed+1].offset <= l.window.Next() {
		passed++
	}
	l.stamps = slices.Delete(l.stamps, 0, passed)
	return l.stamps[0].at
}

// newPartition starts a partition from what the group has committed: offset -1 when there is nothing.
func newPartition(ctx context.Context, tp topicPartition, tier int, sh *partitionState, committed offsets.Commit) (*partition, error) {
	spans, err := offsets.DecodeFinished(committed.Offset, committed.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s partition %d at offset %d: %w", tp.topic, tp.partition, committed.Offset, err)
	}
	l := &partition{topicPartition: tp, tier: tier, state: sh, committed: committed, window: offsets.NewWindow(committed.Offset, spans), own: math.MaxInt64, began: -1}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l, nil
}

// from gives the client's form of an offset to fetch from; -1 is the start of the partition, -2 in the client's words.
func from(offset int64) kgo.EpochOffset {
	if offset < 0 {
		offset = -2
	}
	return kgo.EpochOffset{Epoch: -1, Offset: offset}
}

// size is what a record weighs in memory, about.
func size(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + 200
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value) + 48
	}
	return n
}

// hold notes a taken record that has to be done.
func (l *partition) hold(offset int64, weight int) {
	l.held++
	l.heldBytes += weight
	if offset >= l.own {
		l.heldOwn++
		l.written--
	}
}

// let notes that a held record is finished.
func (l *partition) let(offset int64, weight int) {
	l.held--
	l.heldBytes -= weight
	if offset >= l.own {
		l.heldOwn--
	}
}

// succeed takes over what a predecessor of the same owner knew of the partition. What that one held is taken again.
func (l *partition) succeed(old *partition) {
	l.began, l.start, l.shared = old.began, old.start, old.shared
	l.end, l.own, l.written = old.end, old.own, old.written+old.heldOwn
	if oldest := old.oldest(); !oldest.IsZero() {
		l.stamps = append(l.stamps, old.stamps[0])
	}
}

// limits bound what a partition may hold: half of the engine's room is the source's, the other half is shared by the tiers.
type limits struct{ records, bytes int }

const minHeld = 256 // records: even with many partitions each gets some way ahead

func limitsFor(cfg *Config, partitions map[topicPartition]*partition) (source, tier limits) {
	sources, tiers := 0, 0
	for _, l := range partitions {
		if l.tier == sourceTier {
			sources++
		} else {
			tiers++
		}
	}
	share := func(n int) limits {
		n = max(n, 1)
		return limits{max(minHeld, cfg.Limits.HeldRecords/2/n), max(1<<20, cfg.Limits.HeldBytes/2/n)}
	}
	return share(sources), share(tiers)
}

func (l *partition) full(lim limits) bool { return l.held >= lim.records || l.heldBytes >= lim.bytes }
func (l *partition) roomy(lim limits) bool {
	return l.held <= lim.records/2 && l.heldBytes <= lim.bytes/2
}

// nextOffset gives the offset after the last one that was taken, or the committed one.
func (l *partition) nextOffset() int64 { return l.window.End() }
