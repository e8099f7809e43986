package status

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
)

// Text writes the report for people.
func (r Report) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "pipeline\t%s, %s\nstate\t%s\n", r.Pipeline, r.running(), r.state())
	r.State.text(w, "")
	fmt.Fprintf(w, "dead letters\t%s\n", r.DeadLetters.text(time.Now()))
	for _, m := range r.Members {
		fmt.Fprintf(w, "instance\t%s at %s, partitions %v, mapping %s\n", m.Name, m.Host, m.Partitions, ShortMapping(m.Mapping))
	}
	if r.Mixed {
		fmt.Fprintln(w, "warning\tthe instances run different mappings: a deployment is under way, or was left half done")
	}
	for _, b := range r.Batches {
		fmt.Fprintf(w, "batch\t%s is %s\n", b.ID, b.State)
		b.text(w, "  ")
	}
	fmt.Fprintln(w, "\nSHARD\tCOMMITTED\tEND\tLAG")
	for _, s := range r.Partitions {
		committed := "nothing"
		if s.Committed >= 0 {
			committed = strconv.FormatInt(s.Committed, 10)
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\n", s.Partition, committed, s.End, s.Lag)
	}
	fmt.Fprintf(w, "all\t\t\t%d\n", r.Lag)
	fmt.Fprintln(w, "\nTIER\tWAITING (AT MOST)")
	for _, t := range r.Tiers {
		note := ""
		switch {
		case t.Unread:
			note = "\tnamed like a former tier, and the group has consumed nothing from it: perhaps another pipeline's"
		case t.Former:
			note = "\tformer tier, is drained"
		}
		fmt.Fprintf(w, "%s\t%d%s\n", t.Topic, t.Waiting, note)
	}
	if len(r.Instances) > 0 {
		fmt.Fprintln(w, "\nINSTANCE\tDEPENDENCY\tCIRCUIT\tHELD RECORDS")
	}
	for _, i := range r.Instances {
		i.text(w)
	}
	return w.Flush()
}

// text returns the line about dead letters, with the command that shows them.
func (d DeadLetters) text(now time.Time) string {
	if d.Unknown != "" {
		return "not counted: " + d.Unknown
	}
	var parts []string
	if d.Pending+d.Escalated == 0 {
		parts = append(parts, "none pending")
	} else {
		parts = append(parts, strconv.Itoa(d.Pending)+" pending")
	}
	if d.Escalated > 0 {
		parts = append(parts, strconv.Itoa(d.Escalated)+" escalated")
	}
	if d.Replaying > 0 {
		parts = append(parts, strconv.Itoa(d.Replaying)+" replaying")
	}
	if d.Oldest != nil {
		parts = append(parts, "the oldest for "+cli.Age(now.Sub(*d.Oldest))+"; see replayer groups")
	}
	return strings.Join(parts, ", ")
}

// state returns the last order. If no instance runs, a pipeline that is not paused is not called running.
func (r Report) state() string {
	if r.State.State == control.Running && len(r.Members) == 0 {
		return "not paused"
	}
	return string(r.State.State)
}

// running returns how many instances there are.
func (r Report) running() string {
	switch n := len(r.Members); n {
	case 0:
		return "no instance is running"
	case 1:
		return "1 instance is running"
	default:
		return strconv.Itoa(n) + " instances are running"
	}
}

func (o Order) text(w io.Writer, indent string) {
	for _, line := range []struct{ name, value string }{{"reason", o.Reason}, {"code", string(o.Code)}, {"by", o.By}} {
		if line.value != "" {
			fmt.Fprintf(w, "%s%s\t%s\n", indent, line.name, line.value)
		}
	}
	if o.At != nil {
		fmt.Fprintf(w, "%ssince\t%s\n", indent, o.At.UTC().Format(time.RFC3339))
	}
	if o.GatesOff != nil {
		fmt.Fprintf(w, "%srate gates\toff until %s: no rate pauses the pipeline\n", indent, o.GatesOff.UTC().Format(time.RFC3339))
	}
}

func (i Instance) text(w io.Writer) {
	switch {
	case i.Error != "":
		fmt.Fprintf(w, "%s\t%s\n", i.Metrics, i.Error)
	case len(i.Dependencies) == 0:
		fmt.Fprintf(w, "%s\tno circuit breaker, and nothing is deferred\n", i.Metrics)
	}
	for _, d := range i.Dependencies {
		circuit := "closed"
		if d.CircuitOpen {
			circuit = "open"
		}
		if d.HalfOpen {
			circuit = "half-open"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", i.Metrics, d.Name, circuit, d.Deferred)
	}
}

// Screen returns the lines that a terminal of a width and height shows during a watch (see [screen.Fit]). trouble is why
// the report is not new.
func (s Seen) Screen(now time.Time, trouble error, width, height int) []string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s UTC  %s\n%s", s.At.UTC().Format("2006-01-02 15:04:05"), s.pace(), cli.StaleLine(s.At, now, trouble))
	_ = s.Text(&text) // a buffer returns no error
	return cli.FitScreen(text.String(), width, height)
}

// pace returns the line about the rates.
func (s Seen) pace() string {
	if s.Rates == nil {
		return "rates follow"
	}
	text := fmt.Sprintf("%.1f/s in, %.1f/s committed", s.Rates.In, s.Rates.Done)
	switch {
	case s.Lag == 0:
		return text + ", no lag"
	case s.Rates.Left != nil:
		return text + fmt.Sprintf(", lag %d, about %s left", s.Lag, time.Duration(*s.Rates.Left*float64(time.Second)).Round(time.Second))
	default:
		return text + fmt.Sprintf(", lag %d, not shrinking", s.Lag)
	}
}
