package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
)

func (a *app) list() *cobra.Command {
	var sel selection
	var noValues bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters",
		Long: `List the dead letters that all given flags select, the oldest first. With -o json or ndjson
each has its original bytes, as text or base64, and they come in the order of the DLQ.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runList(cmd.Context(), &sel, noValues) },
	}
	sel.register(cmd)
	cmd.Flags().BoolVar(&noValues, "no-values", false, "leave out the original bytes (json, ndjson)")
	return cmd
}

func (a *app) runList(ctx context.Context, sel *selection, noValues bool) error {
	filter, err := sel.filter(a.env.Now())
	if err != nil {
		return err
	}
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	letters, err := s.Letters(ctx, filter)
	if err != nil {
		return err
	}
	if err := a.writeLetters(ctx, s, letters, noValues); err != nil {
		return err
	}
	if len(letters) == 0 {
		return nothing()
	}
	return nil
}

func nothing() error { return exit(ExitNothing, errors.New("no dead letter matches")) }

func (a *app) writeLetters(ctx context.Context, s *replay.Service, letters []deadletters.Letter, noValues bool) error {
	if a.output == "table" {
		return a.letterTable(letters)
	}
	e := a.emitter()
	emit := func(l deadletters.Letter) error { return e.emit(letterOf(l)) }
	if !noValues {
		if err := s.WithContent(ctx, letters, emit); err != nil {
			return err
		}
		return e.end()
	}
	for _, l := range letters {
		if err := emit(l); err != nil {
			return err
		}
	}
	return e.end()
}

func (a *app) letterTable(letters []deadletters.Letter) error {
	if len(letters) == 0 {
		return nil
	}
	t := table{columns: []column{
		{title: "ID"}, {title: "DIED AT"}, {title: "STATUS"}, {title: "CODE"}, {title: "GROUP"},
		{title: "FEATURE"}, {title: "BYTES", right: true}, {title: "MESSAGE"},
	}}
	broken := 0
	for _, l := range letters {
		message := l.Control.ErrorMessage
		if len(l.Problems) > 0 {
			broken++
			message = "! " + l.Problems[0]
		}
		t.add(l.ID, l.At.UTC().Format("2006-01-02 15:04:05"), statusText(l.Status), orDash(l.Control.ErrorCode), l.Group,
			orDash(l.Control.FeatureID), strconv.Itoa(l.Size), message)
	}
	if err := t.write(a.env.Out, a.env); err != nil {
		return err
	}
	fmt.Fprintf(a.env.Err, "%s", count(len(letters), "letter"))
	if broken > 0 {
		fmt.Fprintf(a.env.Err, ", %d of them not wholly readable (!): replayer show ID says what is wrong", broken)
	}
	fmt.Fprintln(a.env.Err)
	return nil
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
