package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/browse"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

func (a *app) show() *cobra.Command {
	var read reading
	var geojson bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: why it died, its hops, headers, original bytes, decoded feature",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("show takes the id of one letter (replayer list shows them)")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runShow(cmd.Context(), &read, args[0], geojson)
		},
	}
	read.register(cmd)
	cmd.Flags().BoolVar(&geojson, "geojson", false, "print the decoded feature alone, as GeoJSON, for a map")
	return cmd
}

func (a *app) runShow(ctx context.Context, read *reading, id string, geojson bool) error {
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := s.Show(ctx, id)
	switch {
	case err != nil:
		return err
	case geojson:
		return a.writeFeature(d)
	case a.output == "table":
		_, err := io.WriteString(a.env.Out, a.detailText(d))
		return err
	default:
		return a.object(detailOf(d))
	}
}

// writeFeature prints the decoded feature alone.
func (a *app) writeFeature(d browse.Detail) error {
	if d.Feature == nil {
		return fmt.Errorf("letter %s is no feature: %s", d.Letter.ID, featureText(d))
	}
	return a.object(json.RawMessage(d.Feature))
}

type detailJSON struct {
	letterJSON
	State       *deadletters.State `json:"state"`
	Headers     []headerJSON       `json:"headers"`
	Feature     json.RawMessage    `json:"feature"`
	DecodeError string             `json:"decode_error,omitempty"`
	Today       *plan.Verdict      `json:"today"` // null for a letter that is gone
	Hops        []audit.Event      `json:"hops"`
	HopsError   string             `json:"hops_error,omitempty"`
	Kept        string             `json:"kept,omitempty"` // of a letter that is gone: raw_record of the index
}

func detailOf(d browse.Detail) detailJSON {
	out := detailJSON{letterJSON: letterOf(d.Letter), Headers: []headerJSON{}, Feature: d.Feature, Hops: d.Hops, Kept: d.Kept}
	if out.Hops == nil {
		out.Hops = []audit.Event{}
	}
	if d.HopsErr != nil {
		out.HopsError = d.HopsErr.Error()
	}
	if d.Letter.Content != nil {
		out.Headers, out.Today = headersOf(d.Letter.Content.Headers), &d.Verdict
	}
	if !d.Letter.State.At.IsZero() {
		out.State = &d.Letter.State
	}
	if d.Decode != nil {
		out.DecodeError = d.Decode.Error()
	}
	return out
}

// detailText is the letter for people.
func (a *app) detailText(d browse.Detail) string {
	var b strings.Builder
	l := d.Letter
	title := func(text string) { fmt.Fprintf(&b, "\n%s\n", a.painted(bold, text)) }
	line := func(name, value string) { fmt.Fprintf(&b, "  %-14s %s\n", name, clean(value, oneLine)) }

	fmt.Fprintf(&b, "%s\n", a.painted(bold, "dead letter "+clean(l.ID, oneLine)))
	line("status", statusLine(l))
	line("died at", timeText(l.At))
	if l.Gone.IsZero() {
		line("dlq", l.DLQ.String())
	} else {
		line("dlq", l.DLQ.String()+", gone: the topic no longer had it at "+timeText(l.Gone))
	}
	if source, ok := l.Source(); ok {
		line("first seen at", source.String())
	}
	line("key", bytesText(l.Key))
	line("feature", orDash(l.Control.FeatureID))
	line("bbox", orDash(l.Control.BBox))
	line("content hash", l.ContentHash)
	line("group", l.Group)
	line("attempts", attempts(l))
	for _, p := range l.Problems {
		line("problem", p)
	}
	title("why it died")
	line("code", orDash(l.Control.ErrorCode))
	line("class", orDash(l.Control.ErrorClass))
	line("stage", orDash(l.Control.ErrorStage))
	if l.CauseClass != "" {
		line("cause", l.CauseClass)
	}
	line("message", orDash(l.Control.ErrorMessage))
	if asked := l.Control.ErrorRequest; asked != nil {
		line("asked", asked.String())
	}
	if answer := l.Control.ErrorResponse; answer != nil {
		line("answer", answer.String())
	}
	a.hopsText(title, line, d)
	if l.Content == nil {
		title("what the index kept of the original (" + strconv.Itoa(l.Size) + " bytes)")
		b.WriteString(indented(atMost(maxShown, d.Kept)))
		return b.String()
	}
	title("what today's transform says")
	line("", a.verdictText(d.Verdict))
	title("headers")
	for _, h := range l.Content.Headers {
		fmt.Fprintf(&b, "  %s: %s\n", clean(h.Key, oneLine), clean(bytesText(h.Value), oneLine))
	}
	title(fmt.Sprintf("original bytes (%d)", l.Size))
	b.WriteString(indented(atMost(maxShown, bytesText(l.Content.Value))))
	title("decoded feature")
	b.WriteString(indented(atMost(maxShown, featureText(d))))
	return b.String()
}

// hopsText writes what was decided about a letter, in order.
func (a *app) hopsText(title func(string), line func(name, value string), d browse.Detail) {
	if len(d.Hops) == 0 && d.HopsErr == nil {
		return
	}
	title("its hops")
	for _, e := range d.Hops {
		what := []string{string(e.Decision)}
		if e.Attempt > 0 {
			what = append(what, fmt.Sprintf("(attempt %d)", e.Attempt))
		}
		if e.Destination != "" {
			what = append(what, "to "+e.Destination)
		}
		if !e.Due.IsZero() {
			what = append(what, "due "+timeText(e.Due))
		}
		for _, why := range []string{e.Code, e.Reason} {
			if why != "" {
				what = append(what, why)
			}
		}
		line(e.Time.UTC().Format("01-02 15:04:05"), strings.Join(what, ", "))
	}
	if d.HopsErr != nil {
		line("", "not known: "+d.HopsErr.Error())
	}
}

func statusLine(l deadletters.Letter) string {
	text := statusText(l.Status)
	if l.State.At.IsZero() {
		return text
	}
	return fmt.Sprintf("%s since %s by %s: %s (replays ended: %d)", text, timeText(l.State.At), l.State.By, l.State.Reason, l.State.ReprocessCount)
}

func attempts(l deadletters.Letter) string {
	text := strconv.Itoa(l.Control.Attempt)
	if l.Control.MaxAttempts > 0 {
		text += " of " + strconv.Itoa(l.Control.MaxAttempts)
	}
	if l.Deaths > 1 {
		text += fmt.Sprintf("; died %d times", l.Deaths)
	}
	return text
}

func (a *app) verdictText(v plan.Verdict) string {
	if v.Passes {
		return a.painted(green, "passes (remote steps are not tried)")
	}
	return a.painted(red, fmt.Sprintf("fails: %s (%s): ", v.Code, v.Stage)) + v.Message
}

func (a *app) painted(on, text string) string {
	if on = look(a.env, on); on == "" {
		return text
	}
	return on + text + reset
}

func featureText(d browse.Detail) string {
	switch {
	case d.Decode != nil:
		return "cannot be decoded: " + d.Decode.Error()
	case d.Feature == nil:
		return "none: the record deletes the feature"
	}
	return spread(string(d.Feature))
}

// bytesText shows bytes as text, or as base64 when they are none.
func bytesText(b []byte) string {
	switch {
	case b == nil:
		return "(none)"
	case utf8.Valid(b):
		return string(b)
	}
	return "(base64) " + base64.StdEncoding.EncodeToString(b)
}

// maxShown is how much of a letter's bytes a person is shown.
const maxShown = 4096

// atMost cuts a long text and says so.
func atMost(n int, text string) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + fmt.Sprintf("…\n(%d of %d bytes; -o json shows all)", n, len(text))
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(clean(text, keepLines)) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
