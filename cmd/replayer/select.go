package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// selection holds the flags that select dead letters.
type selection struct {
	deadletters.Filter

	text deadletters.FilterText // the other parts of the filter as text
}

// register adds the filter's flags to a command.
func (s *selection) register(cmd *cobra.Command) {
	cli.GroupFlags(cmd, "Which dead letters", func() { s.flags(cmd) })
}

func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.IDs, "id", nil, "only the dead letters with these ids")
	f.StringSliceVar(&s.Codes, "code", nil, "only dead letters that died of these codes")
	f.StringSliceVar(&s.Groups, "group", nil, "only dead letters of these groups (see: replayer groups)")
	f.StringSliceVar(&s.text.Statuses, "status", nil, "only dead letters with these statuses: "+strings.Join(texts(deadletters.Statuses()), ", "))
	f.StringSliceVar(&s.Features, "feature", nil, "only dead letters of the features with these ids")
	f.StringSliceVar(&s.Pipelines, "pipeline", nil, "only dead letters that these pipelines wrote")
	f.StringSliceVar(&s.Runs, "run", nil, "only dead letters of the runs with these ids")
	f.StringArrayVar(&s.text.Headers, "header", nil, "only dead letters with this header, as name or name=value")
	f.StringVar(&s.text.BBox, "bbox", "", "only dead letters whose feature meets west,south,east,north, in the coordinates of the source")
	f.StringVar(&s.Text, "text", "", "only dead letters with this in message, key, feature id or value, verbatim")
	f.StringVar(&s.text.Since, "since", "", "only dead letters that died at or after this: a time, a date, or an age such as 36h or 7d")
	f.StringVar(&s.text.Until, "until", "", "only dead letters that died before this: a time, a date, or an age")
	f.IntVar(&s.Limit, "limit", 0, "at most this many, the oldest first (groups: the largest first); 0 is all")
	mustComplete(cmd.RegisterFlagCompletionFunc("status", words(texts(deadletters.Statuses()))))
	mustComplete(cmd.RegisterFlagCompletionFunc("code", words(texts(classify.Codes()))))
}

// filter returns the filter that the flags describe. Ages become times.
func (s *selection) filter(now time.Time) (deadletters.Filter, error) {
	f := s.Filter
	for _, word := range s.text.Statuses {
		if near := nearest(word, texts(deadletters.Statuses())); near != "" {
			return f, cli.UsageError("--status %s: there is no such status; did you mean %s?", word, near)
		}
	}
	if flag, err := s.text.ReadInto(&f, now); err != nil {
		return f, cli.UsageError("--%s: %w", flag, err)
	}
	if err := f.Check(); err != nil {
		return f, exit(cli.ExitUsage, err)
	}
	return f, nil
}

// flagsOf returns a filter as flags, with absolute times, for a printed command. It leaves out the statuses that a
// command selects anyway.
func flagsOf(f deadletters.Filter) string {
	if len(f.Statuses) == 1 && f.Statuses[0] == deadletters.Pending {
		f.Statuses = nil
	}
	var b strings.Builder
	for name, value := range f.Parts() {
		switch name {
		case "id", "code", "group", "feature", "pipeline", "run": // flags that take lists
			value = cli.ListValue(value)
		}
		b.WriteString(" --" + name + " " + cli.ShellWord(value))
	}
	return b.String()
}

// texts converts the values of an enumeration to text.
func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// nearest returns the value of an enumeration that is similar to a mistyped word. It returns "" if the word is valid or
// nothing is similar.
func nearest(word string, list []string) string {
	if slices.Contains(list, word) {
		return ""
	}
	return config.Nearest(word, list)
}

// filter returns the filter that the flags describe. An unknown error code causes only a warning, because another
// version of Switchback may have written it to the DLQ.
func (a *app) filter(s *selection) (deadletters.Filter, error) {
	for _, code := range s.Codes {
		if slices.Contains(texts(classify.Codes()), code) {
			continue
		}
		hint := "docs/errors.md lists them"
		if code == "retries_exhausted" { // the name in simulate and in the audit trail
			hint = "it is a reason: dead letters that used up their attempts have the code of their last error, see replayer groups"
		} else if near := nearest(code, texts(classify.Codes())); near != "" {
			hint = "did you mean " + near + "?"
		}
		fmt.Fprintf(a.env.Err, "replayer: warning: --code %s: this version has no such code; %s\n", cli.CleanText(code, cli.OneLine), hint)
	}
	return s.filter(a.env.Now())
}
