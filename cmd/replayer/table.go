package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/cli"
)

// The looks of a cell.
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
	right bool // numbers stand at the right
	below bool // stands below its row where a terminal has no room for it beside the others
}

// table is text in columns. Cells are cleaned when the table is written.
type table struct {
	columns []column
	rows    [][]string
	notes   map[int][]string                     // lines below a row, by its number
	paint   func(column int, cell string) string // gives the look of a cell, or ""
	more    int                                  // rows beyond those that a table has room for
}

// maxRows is how many rows a table has: its columns are as wide as its widest cells, so all of them are in memory.
const maxRows = 100_000

func (t *table) add(cells ...string) {
	if len(t.rows) == maxRows {
		t.more++
		return
	}
	t.rows = append(t.rows, cells)
}

// note puts lines below the last row, set in and as wide as the screen. Below a row that the table has no room for there is none.
func (t *table) note(lines ...string) {
	if t.more > 0 || len(t.rows) == 0 {
		return
	}
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	t.notes[len(t.rows)-1] = append(t.notes[len(t.rows)-1], lines...)
}

// rest says what is not in the table; "" when nothing is missing.
func (t *table) rest() string {
	if t.more == 0 {
		return ""
	}
	return fmt.Sprintf("(%d more are not shown: -o ndjson prints all of them)\n", t.more)
}

// write prints the table. On a terminal a row stays on its line: columns that may stand below it do so where there is no room, and then
// the last column is cut.
func (t *table) write(w io.Writer, env Env) error {
	t.fold(env)
	widths := t.widths()
	last := len(widths) - 1
	if env.Terminal && env.Width > 0 {
		widths[last] = min(widths[last], max(env.Width-sum(widths[:last])-last*len(columnGap), 12))
	}
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	if err := t.line(w, widths, titles, func(int, string) string { return look(env, bold) }); err != nil {
		return err
	}
	for n, row := range t.rows {
		err := t.line(w, widths, row, func(i int, cell string) string {
			if t.paint == nil {
				return ""
			}
			return look(env, t.paint(i, cell))
		})
		if err != nil {
			return err
		}
		if err := writeNotes(w, env, t.notes[n]); err != nil {
			return err
		}
	}
	return nil
}

// fold takes columns out of a table that is wider than the terminal, and notes their cells below the rows: as many of the last ones as
// need be.
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

// widths gives the width of the widest cell of each column. It cleans the cells.
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

// noteIndent sets a note in, below the row that it is about.
const noteIndent = "       "

func writeNotes(w io.Writer, env Env, lines []string) error {
	for _, text := range lines {
		text = cli.CleanText(text, cli.OneLine)
		if env.Terminal && env.Width > 0 {
			text = cli.CutText(text, max(env.Width-len(noteIndent), 40))
		}
		if _, err := fmt.Fprintln(w, noteIndent+text); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) line(w io.Writer, widths []int, cells []string, paint func(int, string) string) error {
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
	_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	return err
}

// wrapped breaks a line of prose where a terminal would, but at a space.
func wrapped(env Env, line, indent string) string {
	if !env.Terminal {
		return line
	}
	return cli.WrapText(line, env.Width, indent)
}

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
