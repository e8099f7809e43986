package simulate

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// Print writes a report as plain-text tables. It computes no additional figures.
func Print(out io.Writer, r Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head(w, r)
	for _, t := range r.Timelines {
		waits(w, t)
	}
	outcome(w, r)
	tiers(w, r)
	providers(w, r)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the simulation: %w", err)
	}
	expectations(w, r)
	notModelled(w, r)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the simulation: %w", err)
	}
	return nil
}

func head(w io.Writer, r Report) {
	fmt.Fprintf(w, "%s: %s records a second for %s, %d consumer(s), seed %d\n",
		r.Pipeline, number(r.Rate), span(r.Duration), r.Instances, r.Seed)
}

func waits(w io.Writer, t Timeline) {
	fmt.Fprintf(w, "\nA record that fails each time with %s\n", t.Code)
	fmt.Fprintln(w, "ATTEMPT\tWAITS BEFORE IT\tAFTER THE FIRST FAILURE\tIN")
	for _, wait := range t.Waits {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", wait.Attempt, between(wait.Least, wait.Most), between(wait.Earliest, wait.Latest), wait.Topic)
	}
	fmt.Fprintf(w, "then\t%s\n", t.Reason)
}

func outcome(w io.Writer, r Report) {
	fmt.Fprintln(w, "\nOUTCOME")
	fmt.Fprintf(w, "records\t%s\n", number(r.Records))
	fmt.Fprintf(w, "delivered\t%s\n", number(r.Delivered))
	if r.Superseded > 0 {
		fmt.Fprintf(w, "superseded\t%s\ta newer record of the key had taken effect\n", number(r.Superseded))
	}
	fmt.Fprintf(w, "dead letters\t%s\t%s of the records%s\n", number(r.DeadLettered), percent(r.DLQShare), reasons(r))
	if r.Unfinished > 0 {
		fmt.Fprintf(w, "unfinished\t%s\t%s\n", number(r.Unfinished), unfinished(r))
	}
	fmt.Fprintf(w, "retries\t%s\t%s requests for each record, to the provider with the most\n", number(r.Retries), number(r.Amplification))
	if r.Behind > 0 {
		fmt.Fprintf(w, "put back\t%s\ttimes behind a record of the same key\n", number(r.Behind))
	}
	pauses(w, r)
	fmt.Fprintf(w, "drained\t%s\n", drained(r))
	for _, o := range r.Recovery {
		fmt.Fprintf(w, "outage of %s\t%s to %s\t%s\n", o.Provider, span(o.From), span(o.To), recovered(o))
	}
	fmt.Fprintf(w, "retries begin late by\t%s\thalf of them; %s but for one in a hundred; %s at the most\n",
		span(r.Lateness.P50), span(r.Lateness.P99), span(r.Lateness.Max))
	fmt.Fprintf(w, "first attempts wait\t%s\trecords at the most\n", number(r.PeakLag))
	fmt.Fprintf(w, "worst ten minutes\t%s\tof the attempts fail transiently; %s of the records die\n",
		percent(r.PeakTransientShare), percent(r.PeakDLQShare))
}

// pauses lists when gates paused the pipeline, and how many records waited meanwhile.
func pauses(w io.Writer, r Report) {
	for _, h := range r.Pauses {
		end := "resumed"
		if !h.Resumed {
			end = "it stays paused; set resume_after in the scenario to simulate a resume"
		}
		fmt.Fprintf(w, "PAUSED by a gate\tat %s\tfor %s (%s): %s\n", span(h.At), span(h.For), end, h.Reason)
		fmt.Fprintf(w, "\t\t%s wait in the source and %s in the tiers at the end of it; nothing is lost\n", number(h.InSource), number(h.InTiers))
	}
	if more := r.PausedTimes - len(r.Pauses); more > 0 {
		fmt.Fprintf(w, "and again\t%d\ttimes, %s altogether\n", more, span(r.PausedTime))
	}
}

func unfinished(r Report) string {
	if n := len(r.Pauses); n > 0 && !r.Pauses[n-1].Resumed {
		return "waiting while the pipeline is paused"
	}
	return fmt.Sprintf("still waiting %s after the last arrival", span(r.GaveUp))
}

func reasons(r Report) string {
	var parts []string
	for _, c := range r.ByCode {
		parts = append(parts, c.Name+" "+number(c.Records))
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func drained(r Report) string {
	if r.DrainTime == nil {
		return "never"
	}
	return span(*r.DrainTime) + " after the last arrival"
}

func recovered(o Recovery) string {
	if o.Took == nil {
		return "the backlog never drained"
	}
	return "backlog drained after " + span(*o.Took)
}

func tiers(w io.Writer, r Report) {
	fmt.Fprintln(w, "\nTIER\tMOST WAITING\tAT")
	for _, t := range r.Tiers {
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.Topic, number(t.Peak), span(t.PeakAt))
	}
}

func providers(w io.Writer, r Report) {
	if len(r.Providers) == 0 {
		return
	}
	fmt.Fprintln(w, "\nPROVIDER\tREQUESTS\tA SECOND\tMOST\tAT\tOVER ITS LIMIT\tHELD BACK\tFROM MEMORY\tIN PLACE OF ANOTHER\tBREAKER OPEN")
	for _, p := range r.Providers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Name, number(p.Requests), number(p.Mean), number(p.Peak), span(p.PeakAt),
			number(p.Limited), number(p.Deferred), number(p.Cached), number(p.Fallbacks), percent(p.OpenShare))
	}
}

// notModelled lists the settings of this pipeline that the simulation does not model.
func notModelled(w io.Writer, r Report) {
	for i, text := range r.NotModelled {
		if i == 0 {
			fmt.Fprintln(w, "\nNOT MODELLED")
		}
		fmt.Fprintln(w, text)
	}
}

func expectations(w io.Writer, r Report) {
	if len(r.Expectations) == 0 {
		return
	}
	fmt.Fprintln(w, "\nEXPECTED\tAT MOST\tIS\t")
	for _, v := range r.Expectations {
		is, verdict := "never", "ok"
		if v.Actual != nil {
			is = number(*v.Actual)
		}
		if !v.OK {
			verdict = strings.TrimSpace("BROKEN " + v.Why)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.Expectation, number(v.Limit), is, verdict)
	}
}

// number formats an amount: whole numbers up to a billion with separators, all others with four digits.
func number(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 100 && n != math.Trunc(n), n >= 1e9:
		return fmt.Sprintf("%.4g", n)
	}
	return humanize.Comma(int64(math.RoundToEven(n)))
}

func percent(share float64) string {
	if share == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.3g %%", share*100)
}

// span formats a duration, rounded for a reader.
func span(s Seconds) string {
	d := s.Std()
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

func between(shortest, longest Seconds) string {
	if span(shortest) == span(longest) {
		return span(shortest)
	}
	return span(shortest) + " to " + span(longest)
}
