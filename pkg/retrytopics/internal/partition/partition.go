package partition

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/largebatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// ID identifies a partition.
type ID struct {
	Topic     string
	Partition int32
}

// Partition is one partition of the source or of a tier while this instance owns it. The session's mutex guards it.
type Partition struct {
	ID
	Tier      int // index of the tier, or schedule.Source
	State     *State
	Sched     *schedule.Partition
	Fetched   int64 // number of accepted records
	Window    *offsets.Window
	Committed offsets.Commit
	Shared    bool // of a tier: it contains records of another pipeline
	Sealed    bool // the commit from which the partition started was made with a checkpoint
	Held      int  // accepted records that are not yet committed as finished
	heldOwn   int  // those of them that this owner wrote
	HeldBytes int
	Paused    bool
	FetchAt   time.Time        // not fetched earlier, because a fetch failed
	FetchTold time.Time        // when a failed fetch was last logged
	Large     *largebatch.Read // the large batch at the client's position; nil if there is none
	Began     int64            // log start when this owner first learned it; -1 before
	Start     int64            // last known log start
	End       int64            // last known end of the partition (last stable offset)
	own       int64            // of a tier: offset of the first record that this owner wrote; all records from it on are its own
	written   int              // own records that the client has not returned yet
	Stamps    []stamp
	Slab      []Task // unused tasks. The scheduler's mutex guards it
}

// stamp is the timestamp from which on records have an age, for the lag.
type stamp struct {
	offset int64
	at     time.Time
}

// Wrote records a committed record in the partition of the same number. Each number has one owner, so all later records
// are its own too.
func (l *Partition) Wrote(offset int64) {
	l.own = min(l.own, offset)
	l.written++
}

// stampEvery is the least difference between two stamps.
const stampEvery = 10 * time.Millisecond

// Stamp stores the timestamp of an accepted record.
func (l *Partition) Stamp(r *kgo.Record) {
	if n := len(l.Stamps); n > 0 {
		if later := r.Timestamp.Sub(l.Stamps[n-1].at); later >= 0 && later < stampEvery {
			return
		}
		if n == cap(l.Stamps) {
			l.Oldest() // it may make room
		}
	}
	l.Stamps = append(l.Stamps, stamp{r.Offset, r.Timestamp})
}

// Oldest returns the timestamp of the first unfinished record, or of the last accepted one if the broker has more, to
// within stampEvery. It is zero if nothing is known.
func (l *Partition) Oldest() time.Time {
	if len(l.Stamps) == 0 {
		return time.Time{}
	}
	passed := 0
	for passed < len(l.Stamps)-1 && l.Stamps[passed+1].offset <= l.Window.Next() {
		passed++
	}
	l.Stamps = slices.Delete(l.Stamps, 0, passed)
	return l.Stamps[0].at
}

// New starts a partition from the group's commit; offset -1 means that there is none.
func New(tp ID, tier int, state *State, committed offsets.Commit) (*Partition, error) {
	spans, err := offsets.DecodeFinished(committed.Offset, committed.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s partition %d at offset %d: %w", tp.Topic, tp.Partition, committed.Offset, err)
	}
	return &Partition{ID: tp, Tier: tier, State: state, Committed: committed, Window: offsets.NewWindow(committed.Offset, spans), own: math.MaxInt64, Began: -1}, nil
}

// From returns the client's form of an offset to fetch from; -1 is the start of the partition, which is -2 for the
// client.
func From(offset int64) kgo.EpochOffset {
	if offset < 0 {
		offset = -2
	}
	return kgo.EpochOffset{Epoch: -1, Offset: offset}
}

// Hold adds an accepted record that must be processed.
func (l *Partition) Hold(offset int64, weight int) {
	l.Held++
	l.HeldBytes += weight
	if offset >= l.own {
		l.heldOwn++
		l.written--
	}
}

// Let records that a held record is finished.
func (l *Partition) Let(offset int64, weight int) {
	l.Held--
	l.HeldBytes -= weight
	if offset >= l.own {
		l.heldOwn--
	}
}

// Succeed takes over the state of a predecessor of the same owner. The predecessor's held records are fetched again.
func (l *Partition) Succeed(old *Partition) {
	l.Began, l.Start, l.Shared = old.Began, old.Start, old.Shared
	l.End, l.own, l.written = old.End, old.own, old.written+old.heldOwn
	if oldest := old.Oldest(); !oldest.IsZero() {
		l.Stamps = append(l.Stamps, old.Stamps[0])
	}
}

// NextOffset returns the offset after the last accepted record, or the committed one.
func (l *Partition) NextOffset() int64 { return l.Window.End() }

// Expected returns the lowest offset that the partition's next record should have, or a negative number if it is
// unknown.
func (l *Partition) Expected() int64 {
	if end := l.Window.End(); end >= 0 {
		return end
	}
	return l.Began
}

// Starts records the current log start of a partition. Without a commit, offsets before it are not missing; offsets
// deleted later are.
func (l *Partition) Starts(at int64) {
	if l.Began < 0 {
		l.Began = at
	}
	l.Start = max(l.Start, at)
}

// Unfinished counts the records of the partition that are not finished: the held ones, and those that the broker still
// has. The latter may include transaction markers if former owners wrote them; the count is exact once all of these are
// fetched.
func (l *Partition) Unfinished() int64 {
	return int64(l.Held) + max(0, min(l.End, l.own)-max(l.NextOffset(), 0)) + int64(max(0, l.written))
}

// CommitPoint returns a commit of the partition. It is sealed if the state topic has the checkpoint.
func (l *Partition) CommitPoint(m offsets.Commit) kafka.CommitPoint {
	if l.State.Promised {
		m.Metadata = offsets.Seal(m.Metadata, offsets.Generations{Now: l.State.Generation, Same: l.State.Same})
	}
	return kafka.CommitPoint{Topic: l.Topic, Partition: l.Partition, Commit: m}
}

// CloseLarge ends the reading of a large batch. The session's mutex is held.
func (l *Partition) CloseLarge() {
	if l.Large != nil && l.Large.Reader != nil {
		l.Large.Reader.Close()
	}
	l.Large = nil
}

// Limits bound what a partition may hold: the source has half of the engine's room, and the tiers share the other half.
type Limits struct{ Records, Bytes int }

const minHeld = 256 // records: even with many partitions each makes some progress

// Full reports whether the partition has as many records or bytes as it may.
func (l *Partition) Full(lim Limits) bool { return l.Held >= lim.Records || l.HeldBytes >= lim.Bytes }

// Roomy reports whether a paused partition may be fetched again.
func (l *Partition) Roomy(lim Limits) bool {
	return l.Held <= lim.Records/2 && l.HeldBytes <= lim.Bytes/2
}

// Shares are the limits of each source partition and of each retry partition.
type Shares struct{ Source, Retry Limits }

// Of returns the limits of a partition.
func (s Shares) Of(l *Partition) Limits {
	if l.Tier == schedule.Source {
		return s.Source
	}
	return s.Retry
}

// SharesOf divides an engine's room among the partitions.
func SharesOf(cfg *retrytopics.Config, partitions map[ID]*Partition) Shares {
	sources, tiers := 0, 0
	for _, l := range partitions {
		if l.Tier == schedule.Source {
			sources++
		} else {
			tiers++
		}
	}
	share := func(n int) Limits {
		n = max(n, 1)
		return Limits{max(minHeld, cfg.Limits.HeldRecords/2/n), max(1<<20, cfg.Limits.HeldBytes/2/n)}
	}
	return Shares{Source: share(sources), Retry: share(tiers)}
}
