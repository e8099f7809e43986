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
		return fmt.Sprintf("UNKNOWN: of %s, %d cannot be known; of all others each is in exactly one place", records(r.All.Records), r.All.Unknown)
	}
	if r.All.Records == 0 {
		return "PROVEN, but of nothing: the source holds no record"
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

// Text writes the report for people.
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

// String describes in one line what cannot be known.
func (g Gone) String() string {
	why := map[Reason]string{
		Retention:  "the front of " + g.Topic + " is gone, by retention or by hand",
		Compaction: g.Topic + " is compacted",
		Unreadable: "an event in " + g.Topic + " cannot be read",
		KeyUnknown: "replays in " + g.Topic + " are signed with a replay key that is lost or was changed (name the former one too in SWITCHBACK_REPLAY_KEY)",
		Renamed:    "records of another pipeline.id name them",
		Recreated:  g.Topic + " does not say of which topic it speaks: the source was re-created",
	}[g.Reason]
	if g.Records < 0 {
		return fmt.Sprintf("%s; what lay before %s", cmp.Or(why, string(g.Reason)), g.First)
	}
	return fmt.Sprintf("%s: %s, the first of them %s", cmp.Or(why, string(g.Reason)), records(g.Records), g.First)
}
