package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/cli"
)

// The colours of a cell.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

const columnGap = "  "

// column is one column of a table.
type column struct {
	title string
	right bool // aligned to the right, as numbers are
	below bool // may move below its row if the terminal is too narrow
}

// table is text in columns. It cleans all cells of control characters.
type table struct {
	columns []column
	rows    [][]string
	notes   map[int][]string                     // lines below a row, by its number
	paint   func(column int, cell string) string // returns the colour of a cell, or ""
	more    int                                  // number of rows that were dropped
}

// maxRows limits the rows of a table. All rows are in memory, because a column is as wide as its widest cell.
const maxRows = 100_000

func (t *table) add(cells ...string) {
	if len(t.rows) == maxRows {
		t.more++
		return
	}
	t.rows = append(t.rows, cells)
}

// note adds lines below the last row, unless that row was dropped.
func (t *table) note(lines ...string) {
	if t.more > 0 || len(t.rows) == 0 {
		return
	}
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	t.notes[len(t.rows)-1] = append(t.notes[len(t.rows)-1], lines...)
}

// rest returns a line about the dropped rows, or "" if there are none.
func (t *table) rest() string {
	if t.more == 0 {
		return ""
	}
	return fmt.Sprintf("(%d more are not shown: -o ndjson prints all of them)\n", t.more)
}

// text formats the table. On a terminal each row fits its line: the last columns move below the rows if they may, then the last column is
// cut.
func (t *table) text(env Env) string {
	t.fold(env)
	var b strings.Builder
	widths := t.widths()
	last := len(widths) - 1
	if env.Terminal && env.Width > 0 {
		widths[last] = min(widths[last], max(env.Width-sum(widths[:last])-last*len(columnGap), 12))
	}
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	t.line(&b, widths, titles, func(int, string) string { return look(env, bold) })
	for n, row := range t.rows {
		t.line(&b, widths, row, func(i int, cell string) string {
			if t.paint == nil {
				return ""
			}
			return look(env, t.paint(i, cell))
		})
		for _, text := range t.notes[n] {
			text = cli.CleanText(text, cli.OneLine)
			if env.Terminal && env.Width > 0 {
				text = cli.CutText(text, max(env.Width-len(noteIndent), 40))
			}
			b.WriteString(noteIndent + text + "\n")
		}
	}
	return b.String()
}

// fold moves the last columns of a table that is wider than the terminal below its rows, as many as necessary.
func (t *table) fold(env Env) {
	if !env.Terminal || env.Width <= 0 {
		return
	}
	widths, left := t.widths(), len(t.columns)
	for left > 0 && sum(widths[:left])+(left-1)*len(columnGap) > env.Width && t.columns[left-1].below {
		left--
	}
	if left == len(t.columns) {
		return
	}
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	for n, row := range t.rows {
		var cells []string
		for i, cell := range row[left:] {
			switch title := strings.ToLower(t.columns[left+i].title); {
			case cell == "-" || cell == "":
			case left+i == len(row)-1:
				cells = append(cells, cell)
			default:
				cells = append(cells, title+" "+cell)
			}
		}
		if len(cells) > 0 {
			t.notes[n] = append([]string{strings.Join(cells, columnGap)}, t.notes[n]...)
		}
		t.rows[n] = row[:left]
	}
	t.columns = t.columns[:left]
}

// widths cleans the cells and returns the width of the widest cell of each column.
func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.title)
	}
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = cli.CleanText(cell, cli.OneLine)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// noteIndent is the indentation of the lines below a row.
const noteIndent = "       "

func (t *table) line(to *strings.Builder, widths []int, cells []string, paint func(int, string) string) {
	var b strings.Builder
	for i, cell := range cells {
		cell = cli.CutText(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if on := paint(i, cell); on != "" {
			cell = on + cell + reset
		}
		if i > 0 {
			b.WriteString(columnGap)
		}
		if t.columns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	to.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

// wrapped breaks a line of prose at spaces so that it fits the terminal.
func wrapped(env Env, line, indent string) string {
	if !env.Terminal {
		return line
	}
	return cli.WrapText(line, env.Width, indent)
}

// look returns the escape sequence of a colour, or "" if colours are off.
func look(env Env, on string) string {
	if !env.Color {
		return ""
	}
	return on
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}

// cleaner removes control characters from text for a terminal.
type cleaner struct{ to io.Writer }

// Write cleans text. A character that is split between two writes becomes the replacement character.
func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.to, cli.CleanText(strings.ToValidUTF8(string(p), "\uFFFD"), cli.KeepLines)); err != nil {
		return 0, err
	}
	return len(p), nil
}
