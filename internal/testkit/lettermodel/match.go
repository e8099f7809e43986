package lettermodel

import (
	"bytes"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// match reports whether a filter selects a dead letter with its content.
func match(f deadletters.Filter, l *deadletters.Letter) bool {
	c := &l.Control
	return among(f.IDs, l.ID) && among(f.Codes, c.ErrorCode) && among(f.Groups, l.Group) && among(f.Statuses, l.Status) &&
		among(f.Features, c.FeatureID) && among(f.Pipelines, c.Pipeline) && among(f.Runs, c.RunID) &&
		(f.Since.IsZero() || !l.At.Before(f.Since)) && (f.Until.IsZero() || l.At.Before(f.Until)) &&
		matchBBox(f.BBox, c.BBox) && matchHeaders(f.Headers, l.Content.Headers) && matchText(f.Text, l)
}

func among[T comparable](wanted []T, have T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, have)
}

func matchBBox(wanted *deadletters.BBox, header string) bool {
	if wanted == nil {
		return true
	}
	box, err := deadletters.ParseBBox(header)
	return err == nil && meet(*wanted, box)
}

// meet reports whether two rectangles have a point in common.
func meet(a, b deadletters.BBox) bool {
	if a.South > b.North || b.South > a.North {
		return false
	}
	switch {
	case a.Crosses() && b.Crosses():
		return true // both contain the antimeridian
	case a.Crosses() || b.Crosses():
		return a.West <= b.East || b.West <= a.East
	default:
		return a.West <= b.East && b.West <= a.East
	}
}

// matchHeaders reports whether one of the wanted headers occurs. If a header has several values, any of them may match.
func matchHeaders(wanted []deadletters.HeaderMatch, headers []kgo.RecordHeader) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(m deadletters.HeaderMatch) bool {
		return slices.ContainsFunc(headers, func(h kgo.RecordHeader) bool {
			return h.Key == m.Name && (m.Value == nil || string(h.Value) == *m.Value)
		})
	})
}

func matchText(text string, l *deadletters.Letter) bool {
	return strings.Contains(l.Control.ErrorMessage, text) || strings.Contains(l.Control.FeatureID, text) ||
		strings.Contains(string(l.Key), text) || bytes.Contains(l.Searched(), []byte(text))
}
