package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/status"
)

// detailText returns the text of everything known about a dead letter.
func (a *app) detailText(d dlq.Detail) string {
	var b strings.Builder
	l := d.Letter
	title := func(text string) { fmt.Fprintf(&b, "\n%s\n", a.screen().Paint(cli.Bold, text)) }
	line := func(name, value string) {
		fmt.Fprintf(&b, "  %-14s %s\n", name, cli.CleanText(value, cli.OneLine))
	}

	fmt.Fprintf(&b, "%s\n", a.screen().Paint(cli.Bold, "dead letter "+cli.CleanText(l.ID, cli.OneLine)))
	line("status", statusLine(l))
	line("died at", dlq.TimeText(l.At))
	if l.Gone.IsZero() {
		line("dlq", l.DLQ.String())
	} else {
		line("dlq", l.DLQ.String()+", gone: the topic no longer had it at "+dlq.TimeText(l.Gone))
	}
	if source, ok := l.Source(); ok {
		line("first seen at", source.String())
	} else if source.Topic != "" {
		line("first seen in", source.Topic+", partition and offset are not known")
	}
	if p := l.Pointer; p != nil {
		line("original at", fmt.Sprintf("%s (%d bytes, SHA-256 %x)", p.Position, p.Bytes, p.Value))
	}
	line("key", keyText(&l))
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
	if l.CausedBy != "" {
		line("caused by", l.CausedBy)
	}
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
	a.contentText(&b, title, line, d)
	return b.String()
}

// contentText writes the verdict, the headers and the bytes of a dead letter, and the decoded feature.
func (a *app) contentText(b *strings.Builder, title func(string), line func(name, value string), d dlq.Detail) {
	l := d.Letter
	if !d.Unasked {
		title("what today's transform says")
		if d.ValueMissing == "" {
			fmt.Fprintf(b, "  %-14s %s\n", "", a.verdictText(d.Verdict)) // already cleaned; cleaning again would remove its colours
		} else {
			line("", "it was not asked: the value is not at hand")
		}
		a.deployedText(b, title, line, d)
	}
	title("headers")
	for _, h := range l.Content.Headers {
		fmt.Fprintf(b, "  %s: %s\n", cli.CleanText(h.Key, cli.OneLine), cli.CleanText(atMost(maxShown, headerText(h)), cli.OneLine))
	}
	if d.ValueMissing != "" {
		title(fmt.Sprintf("original bytes (%d)", l.Size))
		line("", d.ValueMissing)
		if head := headOf(&l); len(head) > 0 {
			title(fmt.Sprintf("the first %d of them", len(head)))
			b.WriteString(indented(atMost(maxShown, headText(head))))
		}
		return
	}
	title(fmt.Sprintf("original bytes (%d)", l.Size))
	b.WriteString(indented(atMost(maxShown, bytesText(l.Content.Value))))
	switch {
	case d.Unasked && d.Decode != nil:
		title("decoded value")
		line("", cli.CleanText(d.Decode.Error(), cli.OneLine))
	case d.Unasked && d.Text != nil:
		title("decoded value")
		b.WriteString(indented(atMost(maxShown, bytesText(d.Text))))
	}
	if d.Unasked {
		return
	}
	title("decoded feature")
	b.WriteString(indented(atMost(maxShown, featureText(d))))
}

// deployedText writes what the mappings of running instances say that differ from the one of the pipeline file.
func (a *app) deployedText(b *strings.Builder, title func(string), line func(name, value string), d dlq.Detail) {
	if d.DeployedErr != nil {
		title("what the running instances would say")
		line("", "not known: "+d.DeployedErr.Error())
	}
	for _, other := range d.Deployed {
		title("what the mapping of " + cli.CleanText(strings.Join(other.Instances, ", "), cli.OneLine) + " says, which is another one")
		line("mapping", status.ShortMapping(other.Mapping))
		if other.Verdict == nil {
			line("", "not known: "+other.Unknown)
		} else {
			fmt.Fprintf(b, "  %-14s %s\n", "", a.verdictText(*other.Verdict)) // already cleaned
		}
	}
}

// hopsText writes the audit events about a dead letter in their order.
func (a *app) hopsText(title func(string), line func(name, value string), d dlq.Detail) {
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
			what = append(what, "due "+dlq.TimeText(e.Due))
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

// keyText returns the key, or the hash of a key that is too large.
func keyText(l *deadletters.Letter) string {
	if l.Key == nil && l.Keyed() {
		return fmt.Sprintf("(too large; SHA-256 %x)", *l.Pointer.Key)
	}
	return atMost(maxShown, bytesText(l.Key))
}

// headOf returns the text of the stored beginning of original bytes that are not available.
func headOf(l *deadletters.Letter) []byte {
	if l.Pointer != nil {
		return l.Pointer.Head
	}
	return l.Content.Head
}

// headText is bytesText for bytes that may end in the middle of a character.
func headText(head []byte) string {
	for cut := 0; cut < utf8.UTFMax && cut < len(head); cut++ {
		if whole := head[:len(head)-cut]; utf8.Valid(whole) {
			return string(whole)
		}
	}
	return bytesText(head)
}

func statusLine(l deadletters.Letter) string {
	text := statusText(&l)
	if l.State.At.IsZero() {
		return text
	}
	return fmt.Sprintf("%s since %s by %s: %s (replays ended: %d)", text, dlq.TimeText(l.State.At), l.State.By, l.State.Reason, l.State.ReprocessCount)
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

// verdictText returns a verdict on one line. Text from a record is cleaned before colours are added, because cleaning
// removes colours.
func (a *app) verdictText(v plan.Verdict) string {
	if v.Passes {
		return a.screen().Paint(cli.Green, "passes (remote steps and the sink are not tried)")
	}
	return a.screen().Paint(cli.Red, cli.CleanText(fmt.Sprintf("fails: %s (%s): ", v.Code, v.Stage), cli.OneLine)) + cli.CleanText(v.Message, cli.OneLine)
}

func featureText(d dlq.Detail) string {
	switch {
	case d.Decode != nil:
		return "cannot be decoded: " + d.Decode.Error()
	case d.Feature == nil:
		return "none: the record deletes the feature"
	}
	return cli.IndentJSON(string(d.Feature))
}

// bytesText returns bytes as text, or as base64 if they are not text.
func bytesText(b []byte) string {
	switch {
	case b == nil:
		return "(none)"
	case utf8.Valid(b):
		return string(b)
	}
	return "(base64) " + base64.StdEncoding.EncodeToString(b)
}

// headerText returns the text of a header value. Binary numbers of a framework are printed in decimal, timestamps also
// as a time.
func headerText(h kgo.RecordHeader) string {
	n, ok := dialects.NumberIn(h)
	switch {
	case !ok:
		return bytesText(h.Value)
	case strings.HasSuffix(h.Key, "timestamp"):
		return fmt.Sprintf("%d (%s)", n, dlq.TimeText(time.UnixMilli(n)))
	}
	return strconv.FormatInt(n, 10)
}

// maxShown is the maximum number of bytes of a value in text output.
const maxShown = 4096

// atMost cuts a long text and adds its length.
func atMost(n int, text string) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + fmt.Sprintf("…\n(%d of %d bytes; -o json shows all)", n, len(text))
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(cli.CleanText(text, cli.KeepLines)) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
