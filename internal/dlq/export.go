package dlq

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// Format is the format of an export. It is a closed list (see [Formats]).
type Format string

// The formats.
const (
	NDJSON  Format = "ndjson"  // one JSON object per dead letter, from which its record can be made again
	GeoJSON Format = "geojson" // a FeatureCollection for a map
	CSV     Format = "csv"     // a table for a spreadsheet
)

// Formats returns every format.
func Formats() []Format { return []Format{NDJSON, GeoJSON, CSV} }

// Exported counts an export.
type Exported struct {
	Letters int
	NoPlace int // of a GeoJSON export: dead letters whose value is no feature; their geometry is null
	Gone    int // dead letters without original bytes: the topic no longer has them
}

// exporter writes dead letters in one format.
type exporter interface {
	begin() error
	letter(l *deadletters.Letter, feature []byte) error
	end() error
}

// Export writes the selected dead letters with their original bytes, the oldest death first, as they are read: any
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
		feature, _ = s.letters.Decoded(ctx, l.Content) // the dead letter's own error says why not
	}
	if feature == nil {
		n.NoPlace++
	}
	return feature
}
