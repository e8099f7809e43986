package sinkverify

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/verify"
)

// Report is what a comparison found.
type Report struct {
	Pipeline string         `json:"pipeline"`
	Table    string         `json:"table"`
	Verdict  verify.Verdict `json:"verdict"`
	At       time.Time      `json:"at"`           // when the end of the topic was looked up
	Records  int64          `json:"records_read"` // of the output topic
	Keys     int64          `json:"keys"`         // that the topic has
	Live     int64          `json:"live"`         // of these not deleted
	Rows     int64          `json:"rows"`         // of the table

	Found    map[Kind]int64 `json:"found"`
	Findings []Finding      `json:"findings"` // in the order in which they were found; at most the limit of each kind
	Repaired int64          `json:"repaired"`
	Notes    []string       `json:"notes"`
}

// Finding names one key.
type Finding struct {
	Kind   Kind   `json:"kind"`
	Key    string `json:"key"`              // as the guard names the record key; of a row that nothing has written, the row's
	Output string `json:"output,omitempty"` // topic/partition/offset of the newest record
	Source string `json:"source,omitempty"` // of the event that it says
	Guard  string `json:"guard,omitempty"`  // of the event that the table has
}

// String gives one line.
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

func (r *Report) judge() {
	r.Verdict = verify.Proven
	for _, kind := range Kinds() {
		switch {
		case r.Found[kind] > 0 && kind.Violates() && r.left() > 0:
			r.Verdict = verify.Violated
			return
		case r.Found[kind] > 0 && !kind.Violates():
			r.Verdict = verify.Unknown
		}
	}
}

// left is how many differences were not repaired.
func (r *Report) left() (n int64) {
	for kind, found := range r.Found {
		if kind.Violates() {
			n += found
		}
	}
	return n - r.Repaired
}

// Line is the verdict in one line.
func (r *Report) Line() string {
	var parts []string
	for _, kind := range Kinds() {
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
		return fmt.Sprintf("%s: table %s: %s; all else is what the output topic says", strings.ToUpper(string(r.Verdict)), r.Table, list)
	}
	return fmt.Sprintf("PROVEN: table %s is what the output topic says", r.Table)
}

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
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
