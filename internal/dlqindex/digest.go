package dlqindex

import (
	"hash/maphash"
	"strconv"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// digest is what a row must have, in few bytes, because a million digests are in memory. They are compared within one
// process, and nobody forges them: 32 bits overlook one change in four billion.
type digest struct {
	letter, state uint32
	offset        int64 // where the record lies that counts
	first         int64 // when the letter first died, in milliseconds since 1970
	partition     int32
	deaths        int16
	row           bool // a row of the table was compared with it
	last          deadletters.Last
	replay        uint32 // of the last replay's id
}

// follows reports whether a state replaces the last one, and stores it then.
func (d *digest) follows(s *deadletters.State, replay uint32) bool {
	if d.last.Follow(*s, d.replay == replay) != deadletters.Applies {
		return false
	}
	d.last, d.replay = deadletters.LastOf(*s), replay
	return true
}

// digests computes digests.
type digests struct {
	seed maphash.Seed
	buf  []byte
}

func (d *digests) text(parts ...string) uint64 {
	d.buf = d.buf[:0]
	d.add(parts...)
	return d.sum()
}

// letter returns the digest of what the table has of a record.
func (d *digests) letter(l *deadletters.Letter, raw string) uint32 {
	c := &l.Control
	source := header.Position{Topic: c.Source.Topic}
	if c.HasSource {
		source = c.Source
	}
	d.buf = d.buf[:0]
	d.add(raw, string(l.Dialect), string(l.Key), l.Group, l.ContentHash, l.CauseClass, l.CausedBy, c.ErrorMessage, c.ErrorCode, c.ErrorClass, c.ErrorStage,
		c.FeatureID, c.Pipeline, c.RunID, c.BBox, source.Topic, l.EditOf.Topic, requestText(c.ErrorRequest), responseText(c.ErrorResponse), pointerText(l.Pointer), l.TooLarge)
	for _, n := range []int64{
		int64(l.DLQ.Partition), l.DLQ.Offset, l.At.UnixMilli(), int64(l.Size), int64(source.Partition), source.Offset, c.SourceTimestamp.UnixMilli(),
		int64(c.Attempt), int64(c.MaxAttempts), int64(c.ReplayCount), int64(l.EditOf.Partition), l.EditOf.Offset, l.Last,
	} {
		d.buf = append(strconv.AppendInt(d.buf, n, 36), 0)
	}
	return uint32(d.sum())
}

func (d *digests) state(s deadletters.State) uint32 {
	d.buf = d.buf[:0]
	d.add(string(s.Status), s.Reason, s.ReplayID, s.By, s.Destination)
	d.buf = strconv.AppendInt(append(strconv.AppendInt(d.buf, int64(s.ReprocessCount), 36), 0), s.At.UnixMilli(), 36)
	return uint32(d.sum())
}

func (d *digests) add(parts ...string) {
	for _, part := range parts {
		d.buf = append(append(d.buf, plain(part)...), 0)
	}
}

func (d *digests) sum() uint64 { return maphash.Bytes(d.seed, d.buf) }
