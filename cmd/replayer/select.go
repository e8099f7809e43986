package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// selection is the filter as it stands on the command line.
type selection struct {
	ids, codes, groups, statuses       []string
	features, pipelines, runs, headers []string
	bbox, text, since, until           string
	limit                              int
}

// register adds the filter's flags to a command.
func (s *selection) register(cmd *cobra.Command) {
	cli.GroupFlags(cmd, "Which dead letters", func() { s.flags(cmd) })
}

func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.ids, "id", nil, "only the dead letters with these ids")
	f.StringSliceVar(&s.codes, "code", nil, "only dead letters that died of these codes")
	f.StringSliceVar(&s.groups, "group", nil, "only dead letters of these groups (see: replayer groups)")
	f.StringSliceVar(&s.statuses, "status", nil, "only dead letters with these statuses: "+strings.Join(statusWords(), ", "))
	f.StringSliceVar(&s.features, "feature", nil, "only dead letters of the features with these ids")
	f.StringSliceVar(&s.pipelines, "pipeline", nil, "only dead letters that these pipelines wrote")
	f.StringSliceVar(&s.runs, "run", nil, "only dead letters of the runs with these ids")
	f.StringArrayVar(&s.headers, "header", nil, "only dead letters with this header, as name or name=value")
	f.StringVar(&s.bbox, "bbox", "", "only dead letters whose feature meets west,south,east,north, in the coordinates of the source")
	f.StringVar(&s.text, "text", "", "only dead letters with this in message, key, feature id or value, verbatim")
	f.StringVar(&s.since, "since", "", "only dead letters that died at or after this: a time, a date, or an age such as 36h or 7d")
	f.StringVar(&s.until, "until", "", "only dead letters that died before this: a time, a date, or an age")
	f.IntVar(&s.limit, "limit", 0, "at most so many, the oldest first (groups: the largest first); 0 is all")
	mustComplete(cmd.RegisterFlagCompletionFunc("status", words(statusWords())))
	mustComplete(cmd.RegisterFlagCompletionFunc("code", words(codeWords())))
}

// filter makes the flags absolute: ages are counted from now, once.
func (s *selection) filter(now time.Time) (deadletters.Filter, error) {
	f := deadletters.Filter{
		IDs: s.ids, Codes: s.codes, Groups: s.groups, Limit: s.limit,
		Features: s.features, Pipelines: s.pipelines, Runs: s.runs, Text: s.text,
	}
	for _, word := range s.statuses {
		if near := meant(word, statusWords()); near != "" {
			return f, usage("--status %s: there is no such status; did you mean %s?", word, near)
		}
	}
	text := deadletters.FilterText{Statuses: s.statuses, Headers: s.headers, BBox: s.bbox, Since: s.since, Until: s.until}
	if flag, err := text.ReadInto(&f, now); err != nil {
		return f, usage("--%s: %w", flag, err)
	}
	if err := f.Check(); err != nil {
		return f, exit(cli.ExitUsage, err)
	}
	return f, nil
}

// flagsOf writes a filter as flags again, with absolute times.
func flagsOf(f deadletters.Filter) string {
	var b strings.Builder
	add := func(flag string, values ...string) {
		for _, v := range values {
			fmt.Fprintf(&b, " --%s %s", flag, quoted(v))
		}
	}
	listed := func(flag string, values ...string) {
		for _, v := range values {
			add(flag, oneOfList(v))
		}
	}
	listed("id", f.IDs...)
	listed("code", f.Codes...)
	listed("group", f.Groups...)
	for _, s := range f.Statuses {
		if s != deadletters.Pending || len(f.Statuses) > 1 {
			add("status", string(s))
		}
	}
	listed("feature", f.Features...)
	listed("pipeline", f.Pipelines...)
	listed("run", f.Runs...)
	for _, h := range f.Headers {
		add("header", h.String())
	}
	if f.BBox != nil {
		add("bbox", f.BBox.String())
	}
	if f.Text != "" {
		add("text", f.Text)
	}
	if !f.Since.IsZero() {
		add("since", f.Since.Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		add("until", f.Until.Format(time.RFC3339Nano))
	}
	if f.Limit > 0 {
		add("limit", fmt.Sprint(f.Limit))
	}
	return b.String()
}

// oneOfList writes a value as one of a flag that takes several, between commas: such a flag is read as a line of CSV.
func oneOfList(value string) string {
	if !strings.ContainsAny(value, ",\"\r\n") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// quoted puts a word into single quotes when a shell would read it otherwise, and writes as escapes what would steer a
// terminal: a word can come from a record.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@%=", r)
	}
	switch {
	case word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0:
		return word
	case strings.IndexFunc(word, cli.SteersInText) < 0 && utf8.ValidString(word):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(word) {
		if c := word[i]; c < utf8.RuneSelf && !cli.SteersInText(rune(c)) && c != '\'' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return "$'" + b.String() + "'"
}

func statusWords() []string {
	var out []string
	for _, s := range deadletters.Statuses() {
		out = append(out, string(s))
	}
	return out
}

func codeWords() []string {
	var out []string
	for _, c := range classify.Codes() {
		out = append(out, string(c))
	}
	return out
}
