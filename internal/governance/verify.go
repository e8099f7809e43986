package governance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/chain"
)

// Verify holds every chain of a ledger against its hashes and its head. The error, which wraps chain.ErrBroken, names every
// partition that does not hold, and where. Entries that are not there any more are an error only where it can be proved that
// the audit topic's retention has not taken them (see [Document.Missing]).
func (d Document) Verify() error {
	var faults []error
	for _, p := range d.Partitions {
		if err := errors.Join(p.verify(), d.taken(p)); err != nil {
			faults = append(faults, fmt.Errorf("partition %d: %w", p.Partition, err))
		}
	}
	return errors.Join(faults...)
}

func (p Partition) verify() error {
	var v chain.Verifier
	for _, e := range p.Entries {
		if err := v.Check(e.Link, e.Entry); err != nil {
			return err
		}
		var entry Entry
		if err := json.Unmarshal(e.Entry, &entry); err != nil {
			return fmt.Errorf("%w: entry %d: %w", chain.ErrBroken, e.Link.Seq, err)
		}
		if entry.Version > Version || !known(entry.Reason) {
			return fmt.Errorf("entry %d is of ledger version %d with the reason %q; this program knows version %d: use a newer one", e.Link.Seq, entry.Version, entry.Reason, Version)
		}
	}
	switch {
	case p.Head == nil && len(p.Entries) > 0:
		return fmt.Errorf("%w: there are %d entries and no head", chain.ErrBroken, len(p.Entries))
	case p.Head == nil || len(p.Entries) == 0:
		return nil
	}
	return v.End(*p.Head)
}

// missing gives the number of the last entry that is not there any more, counted from the beginning; 0 when all are.
func (p Partition) missing() int64 {
	switch {
	case len(p.Entries) > 0:
		return p.Entries[0].Link.Seq - 1
	case p.Head != nil:
		return p.Head.Seq
	}
	return 0
}

// taken is an error when entries are gone that retention cannot have taken.
func (d Document) taken(p Partition) error {
	last := p.missing()
	if last == 0 {
		return nil
	}
	var why string
	headAt, err := time.Parse(time.RFC3339, p.HeadAt)
	switch {
	case p.Begins != nil && *p.Begins == 0:
		why = "nothing was ever deleted from this partition of the audit topic: it is not the one that they were written to"
	case d.Retention == -1:
		why = "the audit topic keeps its records for ever: somebody deleted them"
	case err == nil && len(p.Entries) == 0 && d.Retention > 0 && d.ReadAt.Sub(headAt) < time.Duration(d.Retention)*time.Millisecond:
		why = fmt.Sprintf("the latest is of %s, and the audit topic keeps its records for %v: somebody deleted them", p.HeadAt, time.Duration(d.Retention)*time.Millisecond)
	default:
		return nil
	}
	return fmt.Errorf("%w: entries 1 to %d are not there, and retention has not taken them: %s", chain.ErrBroken, last, why)
}

// Missing says what is not there of chains that hold otherwise, one line for each partition. The topics do not tell whether
// retention has taken it or a person; an export from before does (see [Document.Continues]).
func (d Document) Missing() []string {
	var out []string
	for _, p := range d.Partitions {
		switch last := p.missing(); {
		case last == 0:
		case len(p.Entries) == 0:
			out = append(out, fmt.Sprintf("partition %d: all of its %d entries are gone, by retention or by somebody's hand", p.Partition, last))
		default:
			out = append(out, fmt.Sprintf("partition %d: it begins with entry %d; those before are gone, by retention or by somebody's hand", p.Partition, last+1))
		}
	}
	return out
}

// Continues holds a ledger against an earlier one that was kept apart: it must go on from there. The error wraps chain.ErrBroken
// and names every partition that has another history, or less of it than before.
func (d Document) Continues(before Document) error {
	var faults []error
	for _, was := range before.Partitions {
		if was.Head == nil || was.Head.Seq == 0 {
			continue
		}
		i := slices.IndexFunc(d.Partitions, func(p Partition) bool { return p.Partition == was.Partition })
		if i < 0 || d.Partitions[i].Head == nil {
			faults = append(faults, fmt.Errorf("%w: partition %d had %d entries before, and has no chain now", chain.ErrBroken, was.Partition, was.Head.Seq))
			continue
		}
		if err := d.Partitions[i].continues(*was.Head); err != nil {
			faults = append(faults, fmt.Errorf("partition %d: %w", was.Partition, err))
		}
	}
	return errors.Join(faults...)
}

// continues says whether a chain has an earlier head in it, as far as it is there.
func (p Partition) continues(was chain.Link) error {
	if p.Head.Seq < was.Seq {
		return fmt.Errorf("%w: it ends with entry %d now, and had %d before", chain.ErrBroken, p.Head.Seq, was.Seq)
	}
	other := func(hash string) error {
		return fmt.Errorf("%w: entry %d has the hash %s now, and had %s before", chain.ErrBroken, was.Seq, hash, was.Hash)
	}
	if p.Head.Seq == was.Seq && p.Head.Hash != was.Hash {
		return other(p.Head.Hash)
	}
	for _, e := range p.Entries {
		switch {
		case e.Link.Seq == was.Seq && e.Link.Hash != was.Hash:
			return other(e.Link.Hash)
		case e.Link.Seq == was.Seq+1 && e.Link.Prev != was.Hash:
			return other(e.Link.Prev)
		}
	}
	return nil
}
