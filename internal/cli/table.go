package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style is the escape sequence of a colour or a weight on a terminal.
type Style string

// The styles.
const (
	Plain Style = ""
	Bold  Style = "\x1b[1m"
	Red   Style = "\x1b[31m"
	Green Style = "\x1b[32m"
)

const endOfStyle = "\x1b[0m"

// Screen is the output for which text is formatted.
type Screen struct {
	Terminal bool // rows and lines are fitted to the width
	Width    int  // columns of the terminal; 0 is unknown
	Color    bool // styles are shown
}

// Paint returns text in a style, or the text alone if the screen shows no styles.
func (s Screen) Paint(style Style, text string) string {
	if !s.Color || style == Plain {
		return text
	}
	return string(style) + text + endOfStyle
}

// Wrap breaks a line of prose at spaces so that it fits the terminal.
func (s Screen) Wrap(line, indent string) string {
	if !s.Terminal {
		return line
	}
	return WrapText(line, s.Width, indent)
}

const columnGap = "  "

// Column is one column of a table.
type Column struct {
	Title string
	Right bool // aligned to the right, as numbers are
	Below bool // may move below its row if the terminal is too narrow
}

// Table is text in columns. It cleans all cells of control characters.
type Table struct {
	Columns []Column
	Style   func(column int, cell string) Style // of a cell; nil styles none

	rows    [][]string
	notes   map[int][]string // lines below a row, by its number
	dropped int              // number of rows
}

// MaxRows limits the rows of a table. All rows are in memory, because a column is as wide as its widest cell.
const MaxRows = 100_000

// Add adds a row. A table drops the rows after the first [MaxRows].
func (t *Table) Add(cells ...string) {
	if len(t.rows) == MaxRows {
		t.dropped++
		return
	}
	t.rows = append(t.rows, cells)
}

// Note adds lines below the last row, unless that row was dropped.
func (t *Table) Note(lines ...string) {
	if t.dropped > 0 || len(t.rows) == 0 {
		return
	}
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	t.notes[len(t.rows)-1] = append(t.notes[len(t.rows)-1], lines...)
}

// Drop counts rows that the caller has left out.
func (t *Table) Drop(rows int) { t.dropped += rows }

// Len returns the number of rows, including the dropped ones.
func (t *Table) Len() int { return len(t.rows) + t.dropped }

// Dropped returns a line about the dropped rows, or "" if there are none.
func (t *Table) Dropped() string {
	if t.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("(%d more are not shown: -o ndjson prints all of them)\n", t.dropped)
}

// Text formats the table. On a terminal each row fits its line: the last columns move below the rows if they may, then
// the last column is cut.
func (t *Table) Text(s Screen) string {
	t.fold(s)
	var b strings.Builder
	widths := t.widths()
	last := len(widths) - 1
	if s.Terminal && s.Width > 0 {
		widths[last] = min(widths[last], max(s.Width-sum(widths[:last])-last*len(columnGap), 12))
	}
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	t.line(&b, s, widths, titles, func(int, string) Style { return Bold })
	for n, row := range t.rows {
		t.line(&b, s, widths, row, t.Style)
		for _, text := range t.notes[n] {
			text = CleanText(text, OneLine)
			if s.Terminal && s.Width > 0 {
				text = CutText(text, max(s.Width-len(noteIndent), 40))
			}
			b.WriteString(noteIndent + text + "\n")
		}
	}
	return b.String()
}

// fold moves the last columns of a table that is wider than the terminal below its rows, as many as necessary.
func (t *Table) fold(s Screen) {
	if !s.Terminal || s.Width <= 0 {
		return
	}
	widths, left := t.widths(), len(t.Columns)
	for left > 0 && sum(widths[:left])+(left-1)*len(columnGap) > s.Width && t.Columns[left-1].Below {
		left--
	}
	if left == len(t.Columns) {
		return
	}
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	for n, row := range t.rows {
		var cells []string
		for i, cell := range row[left:] {
			switch title := strings.ToLower(t.Columns[left+i].Title); {
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
	t.Columns = t.Columns[:left]
}

// widths cleans the cells and returns the width of the widest cell of each column.
func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Title)
	}
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = CleanText(cell, OneLine)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// noteIndent is the indentation of the lines below a row.
const noteIndent = "       "

func (t *Table) line(to *strings.Builder, s Screen, widths []int, cells []string, style func(int, string) Style) {
	var b strings.Builder
	for i, cell := range cells {
		cell = CutText(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if style != nil {
			cell = s.Paint(style(i, cell), cell)
		}
		if i > 0 {
			b.WriteString(columnGap)
		}
		if t.Columns[i].Right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	to.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}

// Cleaner removes control characters from text for a terminal.
type Cleaner struct{ To io.Writer }

// Write cleans text. A character that is split between two writes becomes the replacement character.
func (c Cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.To, CleanText(strings.ToValidUTF8(string(p), "\uFFFD"), KeepLines)); err != nil {
		return 0, err
	}
	return len(p), nil
}
