package retrytopics

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sourceLane is the tier number of a lane of the source topic.
const sourceLane = -1

// topicPartition names a lane.
type topicPartition struct {
	topic     string
	partition int32
}

// lane is one partition of the source or of a tier while this instance owns it. The session's mutex guards it.
type lane struct {
	topicPartition
	tier      int // index of the tier, or sourceLane
	window    *window
	committed mark
	withheld  []*task // finished, but the commit's metadata has no room for them yet
	held      int     // records taken and not yet committed as finished
	heldBytes int
	paused    bool
	end       int64 // last known end of the partition (last stable offset)
	stamps    []stamp
}

// stamp is the time of a taken record, for the lag.
type stamp struct {
	offset int64
	at     time.Time
}

// oldest gives the timestamp of the first unfinished record, or of the last one taken when the broker has more; zero
// when nothing is known.
func (l *lane) oldest() time.Time {
	for len(l.stamps) > 1 && l.stamps[0].offset < l.window.next {
		l.stamps = l.stamps[1:]
	}
	if len(l.stamps) == 0 {
		return time.Time{}
	}
	return l.stamps[0].at
}

// newLane starts a lane from what the group has committed: offset -1 when there is nothing.
func newLane(tp topicPartition, tier int, committed mark) (*lane, error) {
	l := &lane{topicPartition: tp, tier: tier, committed: committed}
	return l, l.restart()
}

// restart forgets all that was taken since the last commit.
func (l *lane) restart() error {
	spans, err := decodeAhead(l.committed.offset, l.committed.metadata)
	if err != nil {
		return fmt.Errorf("%s partition %d at offset %d: %w", l.topic, l.partition, l.committed.offset, err)
	}
	l.window = newWindow(l.committed.offset, spans)
	l.withheld, l.held, l.heldBytes, l.paused, l.stamps = nil, 0, 0, false, nil
	return nil
}

// resumeAt gives the offset from which the broker must send again after an abort. -2 is the client's word for the start.
func (l *lane) resumeAt() kgo.EpochOffset {
	if l.committed.offset < 0 {
		return kgo.EpochOffset{Epoch: -1, Offset: -2}
	}
	return kgo.EpochOffset{Epoch: -1, Offset: l.committed.offset}
}

// size is what a record weighs in memory, about.
func size(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + 200
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value) + 48
	}
	return n
}

func (l *lane) hold(r *kgo.Record) {
	l.held++
	l.heldBytes += size(r)
	l.stamps = append(l.stamps, stamp{r.Offset, r.Timestamp})
}

func (l *lane) let(r *kgo.Record) {
	l.held--
	l.heldBytes -= size(r)
	l.oldest()
}

// limits bound what a lane may hold: half of the engine's room is the source's, the other half is shared by the tiers.
type limits struct{ records, bytes int }

const minHeld = 256 // records: even with many lanes each gets some way ahead

func limitsFor(cfg *Config, lanes []*lane) (source, tier limits) {
	sources, tiers := 0, 0
	for _, l := range lanes {
		if l.tier == sourceLane {
			sources++
		} else {
			tiers++
		}
	}
	share := func(n int) limits {
		n = max(n, 1)
		return limits{max(minHeld, cfg.MaxHeldRecords/2/n), max(1<<20, cfg.MaxHeldBytes/2/n)}
	}
	return share(sources), share(tiers)
}

func (l *lane) full(lim limits) bool { return l.held >= lim.records || l.heldBytes >= lim.bytes }
func (l *lane) roomy(lim limits) bool {
	return l.held <= lim.records/2 && l.heldBytes <= lim.bytes/2
}

// stage finishes as many of the tasks as the commit's metadata has room for, in the order of their offsets, and keeps the
// rest withheld. tasks are sorted by offset.
func (l *lane) stage(tasks []*task, maxMetadata int) []*task {
	if n := l.fitting(tasks, maxMetadata); n < len(tasks) {
		l.withheld = tasks[n:]
		tasks = tasks[:n:n]
	}
	for _, t := range tasks {
		l.window.finish(t.raw.Offset)
	}
	return tasks
}

// fitting gives how many of the tasks, from the lowest offset on, leave metadata that fits. A run costs 8 bytes while its
// numbers stay below two million, so a short look suffices nearly always.
func (l *lane) fitting(tasks []*task, maxMetadata int) int {
	if 8*(len(l.window.ahead())+len(tasks))+len(aheadPrefix) <= maxMetadata && l.near() {
		return len(tasks)
	}
	fits := func(n int) bool {
		w := l.window.clone()
		for _, t := range tasks[:n] {
			w.finish(t.raw.Offset)
		}
		return len(w.mark().metadata) <= maxMetadata
	}
	if fits(len(tasks)) {
		return len(tasks)
	}
	low, high := 0, len(tasks) // what is committed fits: low is always possible
	for high-low > 1 {
		if mid := (low + high) / 2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func (l *lane) near() bool {
	n := len(l.window.taken)
	return n == 0 || l.window.taken[n-1].last-l.window.next < 1<<21
}
