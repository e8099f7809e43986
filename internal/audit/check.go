package audit

import (
	"errors"
	"fmt"
	"time"
)

// Report is the check of one chain in one partition of the audit topic.
type Report struct {
	Chain     Chain  `json:"chain"`
	Partition int32  `json:"partition"`
	Entries   int64  `json:"entries"`         // existing ones
	First     int64  `json:"first"`           // number of the first of them; 0 if there is none
	Head      *Head  `json:"head"`            // stored elsewhere; nil if there is none
	Gone      string `json:"gone,omitempty"`  // missing entries of a chain without other faults: removed by retention or deleted
	Fault     string `json:"fault,omitempty"` // the first fault; "" if the chain is intact
}

// Err returns the fault of a chain. It wraps [ErrBroken].
func (r Report) Err() error {
	if r.Fault == "" {
		return nil
	}
	return fmt.Errorf("%w: chain %s, partition %d: %s", ErrBroken, r.Chain, r.Partition, r.Fault)
}

// Broken joins the faults of all chains.
func Broken(reports []Report) error {
	var faults []error
	for _, r := range reports {
		faults = append(faults, r.Err())
	}
	return errors.Join(faults...)
}

// Kept is the part of an audit topic's partition that still exists. It decides which loss retention can explain.
type Kept struct {
	Begins    int64         // log start of the partition; above 0 something was deleted
	Retention time.Duration // of the topic: -1 is forever, 0 if it is unknown or limited by size
	ReadAt    time.Time
}

// Check compares the entries of one chain in one partition with their hashes, its head, and an earlier report. It is
// used by one goroutine.
type Check struct {
	report Report
	last   Link  // of the last correct entry; zero before the first
	since  *Link // from which the chain must continue; nil if no earlier place is known
}

// NewCheck begins a check. head was read before the entries; nil if there was none.
func NewCheck(of Chain, partition int32, head *Head, since *Link) *Check {
	return &Check{report: Report{Chain: of, Partition: partition, Head: head}, since: since}
}

// Add checks the next entry against the earlier ones.
func (c *Check) Add(l Link, entry []byte) {
	if err := c.fits(l, entry); err != nil {
		c.fault("%w", err)
	} else {
		c.last = l
	}
	c.report.Entries++
	if c.report.First == 0 {
		c.report.First = l.Seq
	}
	if head := c.report.Head; head != nil && l.Seq == head.Seq && l.Hash != head.Hash {
		c.fault("entry %d has the hash %s, but its head has %s", l.Seq, l.Hash, head.Hash)
	}
	if c.since == nil {
		return
	}
	switch {
	case l.Seq == c.since.Seq && l.Hash != c.since.Hash:
		c.other(l.Hash)
	case l.Seq == c.since.Seq+1 && l.Prev != c.since.Hash:
		c.other(l.Prev)
	}
}

// fits compares an entry with its hash and the previous entry. It accepts any first entry, because retention may have
// removed earlier ones.
func (c *Check) fits(l Link, entry []byte) error {
	first := c.last.Seq == 0
	hash, err := l.over(entry)
	switch {
	case err != nil:
		return fmt.Errorf("entry %d: %w", l.Seq, err)
	case hash != l.Hash:
		return fmt.Errorf("entry %d was changed: its hash is %s, but the hash of its content is %s", l.Seq, l.Hash, hash)
	case !first && l.Seq != c.last.Seq+1:
		return fmt.Errorf("entry %d follows entry %d", l.Seq, c.last.Seq)
	case !first && l.Prev != c.last.Hash:
		return fmt.Errorf("entry %d has %s as the hash of the previous entry, whose hash is %s", l.Seq, l.Prev, c.last.Hash)
	case first && (l.Seq < 1 || l.Seq == 1 && l.Prev != ""):
		return fmt.Errorf("entry %d cannot be a first one", l.Seq)
	}
	return nil
}

func (c *Check) other(hash string) {
	c.fault("entry %d has the hash %s now and had %s before", c.since.Seq, hash, c.since.Hash)
}

// Behind reports whether entries follow the head that was read before them: they were added meanwhile, or the head was
// removed. The current head distinguishes the two.
func (c *Check) Behind() bool {
	return c.last.Seq > 0 && (c.report.Head == nil || c.last.Seq > c.report.Head.Seq)
}

// End compares the entries with the current head, and returns the report.
func (c *Check) End(now *Head, kept Kept) Report {
	before, last := c.report.Head, c.last
	if !c.Behind() {
		now = before // the current head may belong to entries that were not read
	}
	c.report.Head = now
	switch {
	case now == nil && c.report.Entries > 0:
		c.fault("it has %d entries but no head", c.report.Entries)
	case now == nil:
	case last.Seq > now.Seq, last.Seq == now.Seq && last != now.Link, last.Seq > 0 && before != nil && last.Seq < before.Seq:
		c.fault("it ends with entry %d (%s), but its head is entry %d (%s)", last.Seq, last.Hash, now.Seq, now.Hash)
	}
	if c.since != nil && c.since.Seq > 0 {
		c.goesOn(now)
	}
	if gone := c.gone(); gone > 0 {
		c.taken(gone, kept)
	}
	return c.report
}

// goesOn reports a fault if a chain is shorter than before, or a different one.
func (c *Check) goesOn(now *Head) {
	switch {
	case now == nil:
		c.fault("it had %d entries before and has none now", c.since.Seq)
	case now.Seq < c.since.Seq:
		c.fault("it ends with entry %d now, but had %d entries before", now.Seq, c.since.Seq)
	case now.Seq == c.since.Seq && now.Hash != c.since.Hash:
		c.other(now.Hash)
	}
}

// gone returns the number of the last missing entry, counted from the beginning; 0 if none is missing.
func (c *Check) gone() int64 {
	switch {
	case c.report.Entries > 0:
		return c.report.First - 1
	case c.report.Head != nil:
		return c.report.Head.Seq
	}
	return 0
}

// taken judges missing entries. The topics do not show whether retention removed them or a person deleted them,
// except for entries that retention cannot have removed. An earlier report shows more.
func (c *Check) taken(last int64, kept Kept) {
	at, err := time.Parse(time.RFC3339, c.report.Head.at())
	var why string
	switch {
	case kept.Begins == 0:
		why = "nothing was ever deleted from this partition, so the audit topic was deleted and re-created"
	case kept.Retention < 0:
		why = "the audit topic keeps its records indefinitely, so a person deleted them"
	case err == nil && c.report.Entries == 0 && kept.Retention > 0 && kept.ReadAt.Sub(at) < kept.Retention:
		why = fmt.Sprintf("the latest is from %s, and the audit topic keeps its records for %v, so a person deleted them", c.report.Head.At, kept.Retention)
	case c.report.Entries == 0:
		c.report.Gone = fmt.Sprintf("all of its %d entries were deleted, by retention or by a person", last)
		return
	default:
		c.report.Gone = fmt.Sprintf("it begins with entry %d; earlier entries were deleted, by retention or by a person", last+1)
		return
	}
	c.fault("entries 1 to %d are missing, and retention did not delete them: %s", last, why)
}

func (h *Head) at() string {
	if h == nil {
		return ""
	}
	return h.At
}

// fault stores the first fault.
func (c *Check) fault(format string, args ...any) {
	if c.report.Fault == "" {
		c.report.Fault = fmt.Errorf(format, args...).Error()
	}
}
