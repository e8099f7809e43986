package retrytopics

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// sourceTier is the tier number of source partitions.
const sourceTier = schedule.Source

// topicPartition identifies a partition.
type topicPartition struct {
	topic     string
	partition int32
}

// partition is one partition of the source or of a tier while this instance owns it. The session's mutex guards it.
type partition struct {
	topicPartition
	tier      int // index of the tier, or sourceTier
	state     *partitionState
	sched     *schedule.Partition
	fetched   int64 // number of accepted records
	window    *offsets.Window
	committed offsets.Commit
	shared    bool // of a tier: it has records of another pipeline
	sealed    bool // the commit from which the partition started was made with a checkpoint
	held      int  // accepted records that are not yet committed as finished
	heldOwn   int  // those of them that this owner wrote
	heldBytes int
	paused    bool
	fetchAt   time.Time  // not fetched earlier, because a fetch failed
	fetchTold time.Time  // when a failed fetch was last logged
	large     *largeRead // the large batch at the client's position; nil if there is none
	began     int64      // log start when this owner first learned it; -1 before
	start     int64      // last known log start
	end       int64      // last known end of the partition (last stable offset)
	own       int64      // of a tier: offset of the first record that this owner wrote; all records from it on are its own
	written   int        // own records that the client has not returned yet
	stamps    []stamp
	slab      []heldTask // unused tasks. The scheduler's mutex guards it
}

// stamp is the timestamp from which on records have an age, for the lag.
type stamp struct {
	offset int64
	at     time.Time
}

// wrote records a committed record in the partition of the same number. Each number has one owner, so all later records
// are its own too.
func (l *partition) wrote(offset int64) {
	l.own = min(l.own, offset)
	l.written++
}

// stampEvery is the least difference between two stamps.
const stampEvery = 10 * time.Millisecond

// stamp stores the timestamp of an accepted record.
func (l *partition) stamp(r *kgo.Record) {
	if n := len(l.stamps); n > 0 {
		if later := r.Timestamp.Sub(l.stamps[n-1].at); later >= 0 && later < stampEvery {
			return
		}
		if n == cap(l.stamps) {
			l.oldest() // it may make room
		}
	}
	l.stamps = append(l.stamps, stamp{r.Offset, r.Timestamp})
}

// oldest returns the timestamp of the first unfinished record, or of the last accepted one if the broker has more, to
// within stampEvery. It is zero if nothing is known.
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

// newPartition starts a partition from the group's commit; offset -1 means that there is none.
func newPartition(tp topicPartition, tier int, state *partitionState, committed offsets.Commit) (*partition, error) {
	spans, err := offsets.DecodeFinished(committed.Offset, committed.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s partition %d at offset %d: %w", tp.topic, tp.partition, committed.Offset, err)
	}
	return &partition{topicPartition: tp, tier: tier, state: state, committed: committed, window: offsets.NewWindow(committed.Offset, spans), own: math.MaxInt64, began: -1}, nil
}

// from returns the client's form of an offset to fetch from; -1 is the start of the partition, which is -2 for the
// client.
func from(offset int64) kgo.EpochOffset {
	if offset < 0 {
		offset = -2
	}
	return kgo.EpochOffset{Epoch: -1, Offset: offset}
}

// hold records an accepted record that must be processed.
func (l *partition) hold(offset int64, weight int) {
	l.held++
	l.heldBytes += weight
	if offset >= l.own {
		l.heldOwn++
		l.written--
	}
}

// let records that a held record is finished.
func (l *partition) let(offset int64, weight int) {
	l.held--
	l.heldBytes -= weight
	if offset >= l.own {
		l.heldOwn--
	}
}

// succeed takes over what a predecessor of the same owner knew of the partition. The predecessor's held records are
// fetched again.
func (l *partition) succeed(old *partition) {
	l.began, l.start, l.shared = old.began, old.start, old.shared
	l.end, l.own, l.written = old.end, old.own, old.written+old.heldOwn
	if oldest := old.oldest(); !oldest.IsZero() {
		l.stamps = append(l.stamps, old.stamps[0])
	}
}

// nextOffset returns the offset after the last accepted record, or the committed one.
func (l *partition) nextOffset() int64 { return l.window.End() }

// expected returns the lowest offset that the partition's next record should have, or a negative number if it is
// unknown.
func (l *partition) expected() int64 {
	if end := l.window.End(); end >= 0 {
		return end
	}
	return l.began
}

// starts records the current log start of a partition. Without a commit, offsets before it are not missing; offsets
// deleted later are.
func (l *partition) starts(at int64) {
	if l.began < 0 {
		l.began = at
	}
	l.start = max(l.start, at)
}

// unfinished counts the records of the partition that are not finished: the held ones, and those that the broker still
// has. The latter may include transaction markers if former owners wrote them; the count is exact once all of these are
// fetched.
func (l *partition) unfinished() int64 {
	return int64(l.held) + max(0, min(l.end, l.own)-max(l.nextOffset(), 0)) + int64(max(0, l.written))
}

// commitPoint returns a commit of the partition. It is sealed if the state topic has the checkpoint.
func (l *partition) commitPoint(m offsets.Commit) kafka.CommitPoint {
	if l.state.promised {
		m.Metadata = offsets.Seal(m.Metadata, offsets.Generations{Now: l.state.generation, Same: l.state.same})
	}
	return kafka.CommitPoint{Topic: l.topic, Partition: l.partition, Commit: m}
}

// closeLarge ends the reading of a large batch. The session's mutex is held.
func (l *partition) closeLarge() {
	if l.large != nil && l.large.reader != nil {
		l.large.reader.Close()
	}
	l.large = nil
}

// limits bound what a partition may hold: the source has half of the engine's room, and the tiers share the other half.
type limits struct{ records, bytes int }

const minHeld = 256 // records: even with many partitions each makes some progress

func (l *partition) full(lim limits) bool { return l.held >= lim.records || l.heldBytes >= lim.bytes }
func (l *partition) roomy(lim limits) bool {
	return l.held <= lim.records/2 && l.heldBytes <= lim.bytes/2
}

// limitsFor returns what each source partition and each retry partition may hold.
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
