package deadletters

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Decode converts a DLQ record to a dead letter, whichever software wrote it. It never fails: Problems lists the
// parts that cannot be read. With content, it keeps the record's value and headers without copying them; without, the
// dead letter keeps no memory of the record. The index sets State and Status.
func Decode(r *kgo.Record, withContent bool) Letter {
	return DecodeAs(dialects.Detect(r.Headers), r, withContent)
}

// DecodeAs is Decode for a DLQ whose dialect the operator has named.
func DecodeAs(d Dialect, r *kgo.Record, withContent bool) Letter {
	return decode(d, r, withContent, func(*Letter) {})
}

func decode(d Dialect, r *kgo.Record, withContent bool, adopt func(*Letter)) Letter {
	l := Letter{
		Dialect: d, DLQ: header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset},
		At: r.Timestamp.UTC(), Key: bytes.Clone(r.Key), Size: len(r.Value), Deaths: 1, Status: Pending, Last: r.Offset,
	}
	l.Control, l.Problems = readControl(r.Headers)
	l.boundNames()
	adopt(&l)
	if d != Native {
		f := dialects.Read(d, r.Headers)
		if byProducer := r.Attrs.TimestampType() == 0; byProducer && dialects.KeepsTimestamp(d) {
			f.Timestamp = r.Timestamp.UTC()
		}
		l.translate(f)
	}
	l.ID, l.ContentHash = l.Control.DeadLetterID, l.Control.ContentHash
	l.Group = Fingerprint(l.Control.ErrorCode, l.Control.ErrorStage, l.Pattern())
	l.readEdit(r.Headers)
	l.readPointer(r.Headers)
	if l.ID == "" {
		l.ID = fmt.Sprintf(placeID+"%d-%d", r.Partition, r.Offset)
	}
	if _, err := idempotency.Parse(l.ContentHash); err != nil {
		l.reportHash()
		l.ContentHash = idempotency.Of([]byte("dead letter"), r.Key, l.originalBytes(r.Value)).String()
	}
	l.reportMissing()
	if withContent {
		l.Content = &Content{Value: r.Value, Headers: r.Headers}
	}
	return l
}

// originalBytes returns the known original bytes: all of them, or the head in a pointer.
func (l *Letter) originalBytes(value []byte) []byte {
	if l.Pointer == nil {
		return value
	}
	return l.Pointer.Append(nil)[0].Value
}

// maxName bounds the names of dead letters and the texts by which they are found, in bytes. Our headers are far below
// it, and a database index does not accept every length.
const maxName = 512

// boundNames treats too long a name as unreadable.
func (l *Letter) boundNames() {
	for _, n := range []struct {
		header string
		text   *string
	}{
		{header.KeyDeadLetterID, &l.Control.DeadLetterID},
		{header.KeyPipeline, &l.Control.Pipeline},
		{header.KeyRunID, &l.Control.RunID},
	} {
		if len(*n.text) > maxName {
			l.Problems = append(l.Problems, fmt.Sprintf("header %s: it has %d bytes; the maximum is %d", n.header, len(*n.text), maxName))
			*n.text = ""
		}
	}
}

// translate converts another dialect's headers to control headers. The code is the short name of the exception; the
// class is its full name.
func (l *Letter) translate(f dialects.Letter) {
	c := &l.Control
	c.Source, c.HasSource = header.Position{Topic: f.Topic, Partition: f.Partition, Offset: f.Offset}, f.HasPosition
	c.SourceTimestamp, c.FirstFailedAt, c.Due, c.Attempt = f.Timestamp, f.FirstAt, f.Due, f.Attempts
	c.ErrorClass, c.ErrorCode, c.ErrorStage, c.ErrorMessage = f.ErrorClass, f.Cause(), f.Stage, f.ErrorMessage
	l.CauseClass, l.CausedBy = f.CauseClass, f.CausedBy
	l.Problems = append(l.Problems, f.Problems...)
}

// reportHash distinguishes a broken hash from a missing one; only the broken one is a problem.
func (l *Letter) reportHash() {
	if l.ContentHash != "" {
		l.Problems = append(l.Problems, fmt.Sprintf("header %s: %q is not sha256:<64 hex digits>",
			header.KeyContentHash, header.Clip(l.ContentHash, 80)))
	}
}

// reportMissing names the headers without which a dead letter cannot be handled as our own.
func (l *Letter) reportMissing() {
	if l.Dialect == Unknown {
		l.Problems = append(l.Problems, "no known header: other software wrote the record, and its origin is unknown")
	}
	if l.Dialect != Native {
		return
	}
	for _, need := range []struct {
		header string
		absent bool
	}{
		{header.KeyDeadLetterID, l.Control.DeadLetterID == ""},
		{header.KeySource, !l.Control.HasSource},
		{header.KeyErrorCode, l.Control.ErrorCode == ""},
	} {
		if need.absent {
			l.Problems = append(l.Problems, "header "+need.header+": missing or unreadable")
		}
	}
}

// readControl parses the control headers. If one is broken, it parses each by itself, so that the valid ones still
// count; of a repeated header the first one counts.
func readControl(headers []kgo.RecordHeader) (header.Control, []string) {
	control, err := header.ParseControl(headers)
	if err == nil {
		return control, nil
	}
	var sound []kgo.RecordHeader
	var problems []string
	names := map[string]bool{}
	for _, h := range headers {
		if !header.IsControl(h.Key) {
			continue
		}
		alone := []kgo.RecordHeader{h, h} // twice: the error then reports at least that, unless the name is unknown
		if !names[h.Key] {
			alone = alone[:1]
		}
		if _, err := header.ParseControl(alone); err != nil {
			problems = append(problems, headerProblem(h, err))
			continue
		}
		if !names[h.Key] {
			names[h.Key] = true
			sound = append(sound, h)
		}
	}
	control, err = header.ParseControl(sound)
	if err != nil {
		problems = append(problems, err.Error())
	}
	return control, someProblems(problems)
}

// maxProblems bounds the problems that are named for one dead letter.
const maxProblems = 20

func someProblems(problems []string) []string {
	if more := len(problems) - maxProblems; more > 0 {
		return append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more problems with headers", more))
	}
	return problems
}

func headerProblem(h kgo.RecordHeader, err error) string {
	if broken, ok := errors.AsType[*header.Error](err); ok {
		return fmt.Sprintf("header %s: %s (value %q)", broken.Header, broken.Reason, broken.Value)
	}
	return fmt.Sprintf("header %s: %v", h.Key, err)
}

// IDIn returns the ID of a dead letter in a record that was put back out of a DLQ without a pipeline. Consumers may pass
// headers on, and another DLQ can have a dead letter with the same ID.
func IDIn(dlq, id string) string { return id + "@" + dlq }

// DecodeAlone is [DecodeAs] for a DLQ without a pipeline; the dialect "" means that the headers decide. Our headers
// on such a record count only if they show that it was put back out of this DLQ: those of another DLQ or a pipeline
// name no dead letter of this one. The number of replays counts, wherever they were.
func DecodeAlone(d Dialect, r *kgo.Record, withContent bool) Letter {
	if d == "" {
		ofDeath := func(h kgo.RecordHeader) bool { return h.Key == header.KeyErrorCode }
		if d = dialects.Detect(r.Headers); d == Native && !slices.ContainsFunc(r.Headers, ofDeath) {
			d = Unknown // a consumer that adds no headers wrote it
		}
	}
	return decode(d, r, withContent, func(l *Letter) {
		id, own := strings.CutSuffix(l.Control.DeadLetterID, IDIn(r.Topic, ""))
		if own = own && OfOtherSoftware(id); !own {
			id, l.Control.ReplayID = "", ""
		}
		l.Control.DeadLetterID = id
	})
}

// HeaderEditOf marks a DLQ record that an operator made by editing another record of the same dead letter. Its value is
// the position "topic/partition/offset" of that record, which does not change. The consumer never sees the header.
const HeaderEditOf = "switchback-edit-of"

// readEdit sets EditOf. An edit does not count as a death.
func (l *Letter) readEdit(headers []kgo.RecordHeader) {
	for _, h := range headers {
		if h.Key != HeaderEditOf {
			continue
		}
		l.Deaths = 0
		at, err := header.ParsePosition(string(h.Value))
		if err != nil {
			l.Problems = append(l.Problems, "header "+HeaderEditOf+": "+err.Error())
			return
		}
		l.EditOf = at
		return
	}
}

// Edited reports whether the dead letter's bytes differ from those that died.
func (l *Letter) Edited() bool { return l.EditOf.Topic != "" }
