package dlq

import (
	"encoding/base64"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// csvExporter writes a table (RFC 4180). A text that a spreadsheet would read as a formula gets a leading apostrophe,
// because anybody may have sent it.
type csvExporter struct{ w *csv.Writer }

func newCSVExporter(w io.Writer) *csvExporter { return &csvExporter{csv.NewWriter(w)} }

func (e *csvExporter) begin() error {
	return e.w.Write([]string{
		"id", "status", "died_at", "code", "class", "cause_class", "stage", "message", "group", "dialect", "pipeline", "run_id", "feature_id",
		"west", "south", "east", "north", "source_topic", "source_partition", "source_offset", "dlq_partition", "dlq_offset", "attempts", "deaths",
		"reprocess_count", "content_hash", "key", "key_encoding", "value", "value_encoding", "request", "response",
	})
}

func (e *csvExporter) end() error {
	e.w.Flush()
	return e.w.Error()
}

func (e *csvExporter) letter(l *deadletters.Letter, _ []byte) error {
	c := &l.Control
	row := []string{
		inert(l.ID), StatusText(l.Status), TimeText(l.At), inert(c.ErrorCode), inert(c.ErrorClass), inert(l.CauseClass), inert(c.ErrorStage),
		inert(c.ErrorMessage), l.Group, string(l.Dialect), inert(c.Pipeline), inert(c.RunID), inert(c.FeatureID),
	}
	row = append(row, corners(c.BBox)...)
	row = append(row, position(l)...)
	row = append(row, strconv.Itoa(int(l.DLQ.Partition)), strconv.FormatInt(l.DLQ.Offset, 10), strconv.Itoa(c.Attempt), strconv.Itoa(l.Deaths),
		strconv.Itoa(l.State.ReprocessCount), l.ContentHash)
	row = append(row, encoded(l.Key)...)
	var value []byte
	if l.Content != nil {
		value = l.Content.Value
	}
	switch {
	case l.TooLarge != "":
		row = append(row, "", "too_large")
	case l.Pointer != nil:
		row = append(row, l.Pointer.String(), "pointer")
	default:
		row = append(row, encoded(value)...)
	}
	return e.w.Write(append(row, exchange(c)...))
}

// exchange returns request and answer as JSON, which no spreadsheet reads as a formula.
func exchange(c *header.Control) []string {
	cells := make([]string, 2)
	if c.ErrorRequest != nil {
		cells[0] = c.ErrorRequest.Text()
	}
	if c.ErrorResponse != nil {
		cells[1] = c.ErrorResponse.Text()
	}
	return cells
}

// corners returns the four numbers of a bounding box, or four empty cells.
func corners(text string) []string {
	box, err := deadletters.ParseBBox(text)
	if err != nil {
		return make([]string, 4)
	}
	return strings.Split(box.String(), ",")
}

func position(l *deadletters.Letter) []string {
	source, known := l.Source()
	if !known {
		return []string{inert(source.Topic), "", ""}
	}
	return []string{inert(source.Topic), strconv.Itoa(int(source.Partition)), strconv.FormatInt(source.Offset, 10)}
}

// encoded returns bytes as a cell and their encoding: utf8, base64, or nothing.
func encoded(b []byte) []string {
	switch {
	case b == nil:
		return []string{"", ""}
	case utf8.Valid(b):
		return []string{inert(string(b)), "utf8"}
	default:
		return []string{base64.StdEncoding.EncodeToString(b), "base64"}
	}
}

// inert keeps a spreadsheet from running a cell.
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
