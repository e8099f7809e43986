package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of a run.
type Report struct {
	Pipeline string    `json:"pipeline"`
	Verdict  Verdict   `json:"verdict"`
	At       time.Time `json:"at"`     // of the cut
	Rounds   int       `json:"rounds"` // number of passes over the topics: more than one if something was suspected
	Records  int64     `json:"records_read"`

	Partitions []Counts       `json:"partitions"` // of the source
	All        Counts         `json:"all"`
	Findings   []Finding      `json:"findings"` // by kind and position; at most the limit of each kind
	Found      map[Kind]int64 `json:"found"`    // number of findings of each kind
	Unknowns   []Gone         `json:"cannot_be_known"`
	Notes      []string       `json:"notes"`
}

// Counts is the equation of one partition: Records is the sum of all the following.
type Counts struct {
	Partition    int32 `json:"partition"` // -1: all partitions
	From         int64 `json:"from"`      // log start
	To           int64 `json:"to"`        // end at the cut
	Committed    int64 `json:"committed"` // -1: the group has committed nothing
	Records      int64 `json:"records"`   // in the source; a replay counts as the record that it repeats
	Delivered    int64 `json:"delivered"`
	DeadLettered int64 `json:"dead_lettered"`
	Duplicates   int64 `json:"duplicates"`
	Superseded   int64 `json:"superseded"`
	Filtered     int64 `json:"filtered"`
	Waiting      int64 `json:"waiting"`   // in a tier
	Unread       int64 `json:"unread"`    // in the source, including replays
	InFlight     int64 `json:"in_flight"` // moved while the topics were read
	Unknown      int64 `json:"unknown"`
	Missing      int64 `json:"missing"`
}

func (c *Counts) add(o *Counts) {
	c.Records += o.Records
	c.Delivered += o.Delivered
	c.DeadLettered += o.DeadLettered
	c.Duplicates += o.Duplicates
	c.Superseded += o.Superseded
	c.Filtered += o.Filtered
	c.Waiting += o.Waiting
	c.Unread += o.Unread
	c.InFlight += o.InFlight
	c.Unknown += o.Unknown
	c.Missing += o.Missing
}

// Finding names one record, or a run of offsets.
type Finding struct {
	Kind   Kind   `json:"kind"`
	Source string `json:"source"`         // topic/partition/offset in the source, or in a tier if nothing else is known
	To     int64  `json:"to,omitempty"`   // end of a run, exclusive
	Part   string `json:"part,omitempty"` // such as 17/230
	Detail string `json:"detail"`
}

// Gone describes for how many records something is unknown, and why.
type Gone struct {
	Topic   string `json:"topic"` // the topic that is missing as evidence
	Reason  Reason `json:"reason"`
	Records int64  `json:"records"` // of the source; -1: unknown
	First   string `json:"first"`   // the first of them, or the first offset that the source still has
}

// Verdict is the result of a run. It is a closed list (see [Verdicts]).
type Verdict string

// The verdicts.
const (
	Proven   Verdict = "proven"   // every record in the source is in exactly one place
	Unknown  Verdict = "unknown"  // no fault was found, but some facts cannot be known
	Violated Verdict = "violated" // at least one record is missing, or in a wrong place
)

// Verdicts lists every verdict.
func Verdicts() []Verdict { return []Verdict{Proven, Unknown, Violated} }

// Kind is a kind of finding. It is a closed list (see [Kinds]).
type Kind string

// The kinds.
const (
	Missing          Kind = "missing"               // in no place although the group has finished it
	Lost             Kind = "lost"                  // deleted from the source before the group had finished it
	Duplicated       Kind = "duplicated"            // in the output more often than it was delivered
	DeliveredAndDead Kind = "delivered_and_dead"    // in the output and in the DLQ, and no replay explains it
	DeadTwice        Kind = "dead_twice"            // in the DLQ more often than the record failed
	StillWaiting     Kind = "ended_and_waiting"     // it has an end, and also waits in a tier
	Unfounded        Kind = "unfounded"             // the output or the DLQ names a source position that has no record
	Stranded         Kind = "stranded"              // waits in a topic that no running instance consumes
	CutShort         Kind = "cut_short"             // the log ends before the group's commit
	ReadAgain        Kind = "read_again"            // it has an end, and is or was read again: positions were set back
	Overdue          Kind = "overdue"               // waits although it was due more than a minute ago
	LostInTier       Kind = "deleted_while_waiting" // offsets of a tier that were deleted before the group had finished them
	UnprovenReplay   Kind = "unproven_replay"       // a replay signed with a key that is not known, so it may be a new record
)

// Kinds lists every kind, violations first.
func Kinds() []Kind {
	return []Kind{Missing, Lost, Duplicated, DeliveredAndDead, DeadTwice, StillWaiting, Unfounded, Stranded, CutShort, ReadAgain, Overdue, LostInTier, UnprovenReplay}
}

// Violates reports whether a finding of the kind breaks a guarantee.
func (k Kind) Violates() bool {
	return k != ReadAgain && k != Overdue && k != LostInTier && k != UnprovenReplay
}

// Reason is why something cannot be known. It is a closed list (see [Reasons]).
type Reason string

// The reasons.
const (
	Retention  Reason = "retention"  // the beginning of the topic is lost: by retention, or deleted
	Compaction Reason = "compaction" // the topic is compacted
	Unreadable Reason = "unreadable" // an event of the trail is damaged
	KeyUnknown Reason = "key"        // the proof of a replay names a key that verify does not have
	Renamed    Reason = "renamed"    // records or the trail of another pipeline ID name it
	Recreated  Reason = "recreated"  // the source topic was re-created: records that name its positions may mean those of the previous topic
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{Retention, Compaction, Unreadable, KeyUnknown, Renamed, Recreated}
}

// Line returns the verdict in one line.
func (r *Report) Line() string {
	switch {
	case r.Verdict == Violated:
		var parts []string
		for _, kind := range Kinds() {
			if n := r.Found[kind]; n > 0 && kind.Violates() {
				parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(kind), "_", " ")))
			}
		}
		return fmt.Sprintf("VIOLATED: %s, of %s", strings.Join(parts, ", "), records(r.All.Records))
	case r.Verdict == Unknown:
		return fmt.Sprintf("UNKNOWN: of %s, %d cannot be known; each of the others is in exactly one place", records(r.All.Records), r.All.Unknown)
	}
	if r.All.Records == 0 {
		return "PROVEN, but the source has no records"
	}
	return fmt.Sprintf("PROVEN: each of %s is in exactly one place", records(r.All.Records))
}

func records(n int64) string { return counted(n, "record") }

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Text writes the report as text.
func (r *Report) Text(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\n\n%s\n\n", r.Pipeline, r.Line(), r.All.equation())
	if err := r.table(out); err != nil {
		return err
	}
	r.findings(out)
	for _, g := range r.Unknowns {
		fmt.Fprintf(out, "cannot be known: %s\n", g)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	_, err := fmt.Fprintf(out, "read %d records up to %s, in %s\n", r.Records, r.At.UTC().Format(time.RFC3339), counted(int64(r.Rounds), "look"))
	return err
}

// place is a column of the table.
type place struct {
	name  string
	count func(c *Counts) int64
}

// places returns the columns that are not 0 in all partitions.
func (r *Report) places() []place {
	return slices.DeleteFunc([]place{
		{"DEAD", func(c *Counts) int64 { return c.DeadLettered }},
		{"CLOSED", func(c *Counts) int64 { return c.Duplicates + c.Superseded + c.Filtered }},
		{"WAITING", func(c *Counts) int64 { return c.Waiting }},
		{"UNREAD", func(c *Counts) int64 { return c.Unread }},
		{"IN FLIGHT", func(c *Counts) int64 { return c.InFlight }},
		{"UNKNOWN", func(c *Counts) int64 { return c.Unknown }},
		{"MISSING", func(c *Counts) int64 { return c.Missing }},
	}, func(p place) bool { return p.count(&r.All) == 0 })
}

// table writes a line for each partition.
func (r *Report) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	places := r.places()
	fmt.Fprint(w, "PARTITION\tFROM\tTO\tCOMMITTED\tRECORDS\tDELIVERED")
	for _, p := range places {
		fmt.Fprintf(w, "\t%s", p.name)
	}
	fmt.Fprintln(w)
	for i := range r.Partitions {
		c := &r.Partitions[i]
		committed := "nothing"
		if c.Committed >= 0 {
			committed = fmt.Sprint(c.Committed)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%d\t%d", c.Partition, c.From, c.To, committed, c.Records, c.Delivered)
		for _, p := range places {
			fmt.Fprintf(w, "\t%d", p.count(c))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// equation returns the sum that must hold.
func (c *Counts) equation() string {
	text := fmt.Sprintf("%d records = %d delivered + %d dead + %d duplicates + %d superseded + %d filtered + %d waiting + %d unread + %d in flight",
		c.Records, c.Delivered, c.DeadLettered, c.Duplicates, c.Superseded, c.Filtered, c.Waiting, c.Unread, c.InFlight)
	if c.Unknown > 0 {
		text += fmt.Sprintf(" + %d unknown", c.Unknown)
	}
	if c.Missing > 0 {
		text += fmt.Sprintf(" + %d MISSING", c.Missing)
	}
	return text
}

func (r *Report) findings(out io.Writer) {
	named := map[Kind]int64{}
	for i, f := range r.Findings {
		if i == 0 || r.Findings[i-1].Kind != f.Kind {
			fmt.Fprintf(out, "\n%s (%d):\n", f.Kind, r.Found[f.Kind])
		}
		named[f.Kind]++
		fmt.Fprintf(out, "  %s\n", f)
		if left := r.Found[f.Kind] - named[f.Kind]; left > 0 && (i == len(r.Findings)-1 || r.Findings[i+1].Kind != f.Kind) {
			fmt.Fprintf(out, "  and %d more; --limit names more of them\n", left)
		}
	}
	if len(r.Findings) > 0 || len(r.Unknowns)+len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
}

// String names the record and its fault.
func (f Finding) String() string {
	name := f.Source
	if f.To > 0 {
		name += fmt.Sprintf(" to %d", f.To-1)
	}
	if f.Part != "" {
		name += " part " + f.Part
	}
	return name + ": " + f.Detail
}

// String describes in one line what cannot be verified.
func (g Gone) String() string {
	why := map[Reason]string{
		Retention:  "the beginning of " + g.Topic + " was deleted, by retention or by a person",
		Compaction: g.Topic + " is compacted",
		Unreadable: "an event in " + g.Topic + " cannot be read",
		KeyUnknown: "replays in " + g.Topic + " are signed with a replay key that is lost or was changed (name the former one too in SWITCHBACK_REPLAY_KEY)",
		Renamed:    "records or the audit trail of another pipeline.id name them",
		Recreated:  g.Topic + " does not tell which source topic it refers to: the source was re-created",
	}[g.Reason]
	if g.Records < 0 {
		return fmt.Sprintf("%s; positions before %s", cmp.Or(why, string(g.Reason)), g.First)
	}
	return fmt.Sprintf("%s: %s, the first of them %s", cmp.Or(why, string(g.Reason)), records(g.Records), g.First)
}
