package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// FitScreen returns the lines of a text that fit a terminal: at most width characters each, and fewer lines than
// height, because the cursor needs one. A width of 0 or 1 is unknown. Characters that control a terminal are removed.
func FitScreen(text string, width, height int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if height > 2 && len(lines) > height-1 {
		more := len(lines) - (height - 2)
		lines = append(lines[:height-2], fmt.Sprintf("… %d lines more: a larger window, or -o ndjson", more))
	}
	for i, line := range lines {
		if line = CleanText(line, OneLine); width > 1 {
			line = CutText(line, width)
		}
		lines[i] = line
	}
	return lines
}

// StaleLine returns the line that marks a picture as old, with the reason and a line break; "" without trouble.
func StaleLine(of, now time.Time, trouble error) string {
	if trouble == nil {
		return ""
	}
	return fmt.Sprintf("NOT NEW, of %s ago: %v\n", now.Sub(of).Round(time.Second), strings.ReplaceAll(trouble.Error(), "\n", " "))
}

// RedrawScreen replaces the lines on a terminal (ECMA-48: CUP, EL, ED). It overwrites them without clearing the screen
// first, which would flicker.
func RedrawScreen(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

// TerminalSize returns a function that reads the present columns and rows of a terminal. terminal is false if out is
// not a terminal.
func TerminalSize(out io.Writer) func() (width, height int, terminal bool) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func() (int, int, bool) { return 0, 0, false }
	}
	return func() (int, int, bool) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil || width == 0 {
			return 80, 24, true
		}
		return width, height, true
	}
}

// LineBreaks is how [CleanText] treats line breaks and tabs.
type LineBreaks bool

// The ways to treat them.
const (
	OneLine   LineBreaks = false // they become blanks
	KeepLines LineBreaks = true
)

// Steers reports whether a terminal obeys a character instead of showing it: an escape sequence, a bell, a line break,
// a change of direction.
func Steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// SteersInText is [Steers] for text of several lines, which may contain line breaks.
func SteersInText(r rune) bool { return r != '\n' && Steers(r) }

// CleanText makes text safe for a terminal: a character that steers it becomes the replacement character.
func CleanText(text string, l LineBreaks) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			if l == KeepLines {
				return r
			}
			return ' '
		case Steers(r):
			return utf8.RuneError
		default:
			return r
		}
	}, text)
}

// CutText shortens text to at most n characters, the last of which is then an ellipsis.
func CutText(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:max(n-1, 0)]) + "…"
}

// WrapText breaks a line at its spaces so that it fits a number of columns, and indents the lines below the first. A
// word that is wider than a line stays whole. Without a width the line stays as it is.
func WrapText(line string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	var b strings.Builder
	start := utf8.RuneCountInString(indent)
	at := 0
	for rest := line; rest != ""; {
		text := strings.TrimLeft(rest, " ")
		word, _, _ := strings.Cut(text, " ")
		blanks := len(rest) - len(text)
		rest = text[len(word):]
		if at > start && at+blanks+utf8.RuneCountInString(word) > width {
			b.WriteString("\n" + indent)
			at, blanks = start, 0
		}
		b.WriteString(strings.Repeat(" ", blanks) + word)
		at += blanks + utf8.RuneCountInString(word)
	}
	return b.String()
}

// CheckPeriod returns a usage error unless the --every of a watch is within its bounds.
func CheckPeriod(every time.Duration) error {
	const least, most = 500 * time.Millisecond, time.Hour
	if every < least || every > most {
		return UsageError("--every %s: from %s to %s", every, least, most)
	}
	return nil
}

// lookBound is how long a look of a watch may take, if the period is not longer.
const lookBound = 10 * time.Second

// Watch takes a look once per period and shows it, until the context ends. If the first look fails, Watch returns its
// error. A later failure is passed to show with the last look, so that an unreachable broker is visible and does not
// end the watch. The first look has no bound in time: it may read a long topic.
func Watch[T any](ctx context.Context, every time.Duration, look func(context.Context) (T, error), show func(T, error) error) error {
	last, err := look(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	for ctx.Err() == nil {
		if err := show(last, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
		var next T
		bounded, cancel := context.WithTimeout(ctx, max(every, lookBound))
		if next, err = look(bounded); err == nil {
			last = next
		}
		cancel()
	}
	return nil
}

// ShellWord returns a text as one word of a shell. Characters that could control a terminal are escaped, because a
// word may come from a record.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@%=", r)
	}
	switch {
	case word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0:
		return word
	case strings.IndexFunc(word, SteersInText) < 0 && utf8.ValidString(word):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(word) {
		if c := word[i]; c < utf8.RuneSelf && !SteersInText(rune(c)) && c != '\'' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return "$'" + b.String() + "'"
}

// Age returns a duration in its two largest units.
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
