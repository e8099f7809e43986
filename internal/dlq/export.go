package dlq

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Format is the format of an export. It is a closed list (see [Formats]).
type Format string

// The formats.
const (
	NDJSON  Format = "ndjson"  // one JSON object per dead letter, from which its record can be produced again
	GeoJSON Format = "geojson" // a FeatureCollection for a map
	CSV     Format = "csv"     // a table for a spreadsheet
)

// Formats returns every format.
func Formats() []Format { return []Format{NDJSON, GeoJSON, CSV} }

// Exported counts an export.
type Exported struct {
	Letters int
	NoPlace int // of a GeoJSON export: dead letters whose value is not a feature; their geometry is null
	Gone    int // dead letters without original bytes: the topic no longer has them
}

// exporter writes dead letters in one format.
type exporter interface {
	begin() error
	letter(l *deadletters.Letter, feature []byte) error
	end() error
}

// Export writes the selected dead letters with their original bytes, the oldest death first, while they are read: any
// number needs the memory of a few.
func (s *Service) Export(ctx context.Context, q dlqindex.Query, format Format, to io.Writer) (Exported, error) {
	out := bufio.NewWriterSize(to, 1<<16)
	var e exporter
	switch format {
	case NDJSON:
		e = &ndjsonExporter{out}
	case GeoJSON:
		e = &geojsonExporter{w: out}
	case CSV:
		e = newCSVExporter(out)
	default:
		return Exported{}, fmt.Errorf("unknown format %q; use one of %v", string(format), Formats())
	}
	var n Exported
	err := e.begin()
	if err == nil {
		err = s.Contents(ctx, q, func(l deadletters.Letter) error {
			n.Letters++
			feature := s.feature(ctx, format, &l, &n)
			if l.Content == nil {
				n.Gone++
			}
			return e.letter(&l, feature)
		})
	}
	if err == nil {
		err = e.end()
	}
	if err == nil {
		err = out.Flush()
	}
	return n, err
}

// feature returns the decoded feature of a dead letter, for a format that needs it.
func (s *Service) feature(ctx context.Context, format Format, l *deadletters.Letter, n *Exported) []byte {
	if format != GeoJSON {
		return nil
	}
	var feature []byte
	if l.HoldsValue() && l.Content.Value != nil {
		feature, _ = s.letters.DryRun().Decoded(ctx, l.Content) // the reason is in the dead letter's own error
	}
	if feature == nil {
		n.NoPlace++
	}
	return feature
}

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

// inert keeps a spreadsheet from evaluating a cell.
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// exported is one dead letter as NDJSON: with its headers, its record can be produced again.
type exported struct {
	LetterJSON
	Headers []HeaderJSON `json:"headers"`
}

type ndjsonExporter struct{ w io.Writer }

func (e *ndjsonExporter) begin() error { return nil }
func (e *ndjsonExporter) end() error   { return nil }

func (e *ndjsonExporter) letter(l *deadletters.Letter, _ []byte) error {
	encoder := json.NewEncoder(e.w)
	encoder.SetEscapeHTML(false)
	out := exported{NewLetterJSON(*l), []HeaderJSON{}}
	if l.Content != nil {
		out.Headers = headersOf(l.Content.Headers)
	}
	return encoder.Encode(out)
}

// geojsonExporter writes a FeatureCollection. Each feature keeps its members; its properties get one more, dead_letter,
// with its outcome.
type geojsonExporter struct {
	w    io.Writer
	some bool
}

func (e *geojsonExporter) begin() error {
	_, err := io.WriteString(e.w, `{"type":"FeatureCollection","features":[`)
	return err
}

func (e *geojsonExporter) end() error {
	_, err := io.WriteString(e.w, "\n]}\n")
	return err
}

type deadLetterProperty struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	DiedAt  string `json:"died_at"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Group   string `json:"group"`
	Source  string `json:"source,omitempty"`

	Request  *classify.Request  `json:"request,omitempty"`
	Response *classify.Response `json:"response,omitempty"`
}

func (e *geojsonExporter) letter(l *deadletters.Letter, feature []byte) error {
	about := deadLetterProperty{
		ID: l.ID, Status: StatusText(l.Status), DiedAt: l.At.UTC().Format(time.RFC3339), Code: l.Control.ErrorCode, Message: l.Control.ErrorMessage, Group: l.Group,
		Request: l.Control.ErrorRequest, Response: l.Control.ErrorResponse,
	}
	if source, ok := l.Source(); ok {
		about.Source = source.String()
	}
	text, err := withProperty(feature, about)
	if err != nil {
		return err
	}
	before := ",\n"
	if !e.some {
		before, e.some = "\n", true
	}
	_, err = io.WriteString(e.w, before+string(text))
	return err
}

// withProperty adds dead_letter to the properties of a feature, which may have none.
func withProperty(feature []byte, about deadLetterProperty) ([]byte, error) {
	members := map[string]json.RawMessage{"type": json.RawMessage(`"Feature"`), "geometry": json.RawMessage("null")}
	properties := map[string]json.RawMessage{}
	if feature != nil {
		if err := json.Unmarshal(feature, &members); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(members["properties"], &properties); err != nil && len(members["properties"]) > 0 {
			return nil, err
		}
		if properties == nil {
			properties = map[string]json.RawMessage{}
		}
	}
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	properties["dead_letter"] = text
	if members["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}
