package sink

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/verify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// VerifyReport is the result of a comparison of the table with the output topic.
type VerifyReport struct {
	Pipeline string         `json:"pipeline"`
	Table    string         `json:"table"`
	Verdict  verify.Verdict `json:"verdict"`
	At       time.Time      `json:"at"`           // when the end of the topic was read
	Records  int64          `json:"records_read"` // in the output topic
	Keys     int64          `json:"keys"`         // in the output topic
	Live     int64          `json:"live"`         // keys that are not deleted
	Rows     int64          `json:"rows"`         // in the table

	Found    map[Difference]int64 `json:"found"`
	Findings []Finding            `json:"findings"` // in the order in which they were found; at most the limit of each kind
	Repaired int64                `json:"repaired"`
	Notes    []string             `json:"notes"`
}

// Finding is the difference of one key.
type Finding struct {
	Kind   Difference `json:"kind"`
	Key    string     `json:"key"`              // the record key in the guard's form; the row key of an extra row
	Output string     `json:"output,omitempty"` // topic/partition/offset of the newest record
	Source string     `json:"source,omitempty"` // the source position of that record
	Guard  string     `json:"guard,omitempty"`  // the source position of the event that the table has
}

// String returns the finding in one line.
func (f Finding) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %q", f.Kind, f.Key)
	for _, place := range []struct{ name, at string }{{"output", f.Output}, {"source", f.Source}, {"the table has", f.Guard}} {
		if place.at != "" {
			fmt.Fprintf(&text, ", %s %s", place.name, place.at)
		}
	}
	return text.String()
}

func (r *VerifyReport) judge() {
	r.Verdict = verify.Proven
	for _, kind := range Differences() {
		switch {
		case r.Found[kind] > 0 && kind.Violates() && r.left() > 0:
			r.Verdict = verify.Violated
			return
		case r.Found[kind] > 0 && !kind.Violates():
			r.Verdict = verify.Unknown
		}
	}
}

// left counts the violations that were not repaired.
func (r *VerifyReport) left() (n int64) {
	for kind, found := range r.Found {
		if kind.Violates() {
			n += found
		}
	}
	return n - r.Repaired
}

// Line returns the verdict in one line.
func (r *VerifyReport) Line() string {
	var parts []string
	for _, kind := range Differences() {
		if n := r.Found[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	list := strings.Join(parts, ", ")
	if r.Repaired > 0 {
		list += fmt.Sprintf("; %d repaired", r.Repaired)
	}
	switch {
	case r.Verdict == verify.Violated:
		return fmt.Sprintf("VIOLATED: table %s: %s", r.Table, list)
	case list != "":
		return fmt.Sprintf("%s: table %s: %s; all other rows match the output topic", strings.ToUpper(string(r.Verdict)), r.Table, list)
	}
	return fmt.Sprintf("PROVEN: table %s matches the output topic", r.Table)
}

// Text writes the report for people.
func (r *VerifyReport) Text(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\n\n%d keys in the output topic, %d of them not deleted; %d rows\n", r.Pipeline, r.Line(), r.Keys, r.Live, r.Rows)
	for _, f := range r.Findings {
		fmt.Fprintln(out, f)
	}
	var named int64
	for _, n := range r.Found {
		named += n
	}
	if more := named - int64(len(r.Findings)); more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, "note:", note)
	}
	_, err := fmt.Fprintf(out, "read %d records up to %s\n", r.Records, r.At.UTC().Format(time.RFC3339))
	return err
}

// Difference is how the table differs from the output topic for one key. It is a closed list (see [Differences]).
type Difference string

// The differences.
const (
	DifferenceMissing Difference = "missing" // the topic has the feature, the table has no row or no guard for it
	DifferenceStale   Difference = "stale"   // the row is an older event's
	DifferenceExtra   Difference = "extra"   // the topic deleted the row, or the pipeline never wrote it
	DifferenceChanged Difference = "changed" // the row is the right event's, with other values
	DifferenceAhead   Difference = "ahead"   // the table has a newer event, which is on its way to the topic or was never delivered
	DifferenceUnknown Difference = "unknown" // the guard has the row, and the topic no longer has a record of it
)

// Differences lists every difference, the violations first.
func Differences() []Difference {
	return []Difference{DifferenceMissing, DifferenceStale, DifferenceExtra, DifferenceChanged, DifferenceAhead, DifferenceUnknown}
}

// Violates reports whether the table is wrong. A row that is ahead may be correct, and an unknown one cannot be
// compared.
func (d Difference) Violates() bool { return d != DifferenceAhead && d != DifferenceUnknown }

// topicState is the state of a key in the output topic, from its newest record.
type topicState struct {
	deletes bool
	loose   bool // an older version may follow a newer one; the table keeps the newer one
	source  header.Position
	place   int64 // the offset by which the guard orders the event
}

// differenceOf compares the table's facts with the topic's state; "" means that the row is correct. The pipeline
// writes the table before the topic, so a table behind the topic is wrong.
func differenceOf(s topicState, f Fact) Difference {
	has := func(d Difference) Difference {
		if f.There {
			return d
		}
		return ""
	}
	if !f.Known {
		if s.deletes {
			return has(DifferenceExtra)
		}
		return DifferenceMissing
	}
	if f.Deleted == s.deletes && (s.deletes || f.Same || f.Source == s.source.String()) {
		switch {
		case s.deletes:
			return has(DifferenceExtra)
		case !f.There:
			return DifferenceMissing
		case f.Differs:
			return DifferenceChanged
		}
		return ""
	}
	if !behind(s, f) {
		return DifferenceAhead
	}
	switch {
	case s.deletes:
		return DifferenceExtra
	case f.Deleted:
		return DifferenceMissing
	}
	return DifferenceStale
}

// behind reports whether the table has an older event than the topic. Offsets of two partitions cannot be compared.
func behind(s topicState, f Fact) bool {
	at, err := header.ParsePosition(f.Source)
	return err == nil && !s.loose && at.Topic == s.source.Topic && at.Partition == s.source.Partition && f.Version.Offset < s.place
}
