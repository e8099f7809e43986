package console

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
)

// maxPoints is how many points a map has.
const maxPoints = 10_000

// MapAnswer is a GeoJSON FeatureCollection of points.
type MapAnswer struct {
	Type     string         `json:"type"`
	Fresh    Freshness      `json:"fresh"`
	Total    int            `json:"total"`    // dead letters that the filters select
	NoPlace  int            `json:"no_place"` // of those looked at: their feature has no bounding box
	LeftOut  int            `json:"left_out"` // not looked at, since there are too many
	Features []PointFeature `json:"features"`
}

// PointFeature is the place of one dead letter.
type PointFeature struct {
	Type       string          `json:"type"`
	Geometry   PointGeometry   `json:"geometry"`
	Properties PointProperties `json:"properties"`
}

// PointGeometry is a GeoJSON point.
type PointGeometry struct {
	Type        string     `json:"type"`
	Coordinates [2]float64 `json:"coordinates"`
}

// PointProperties says which dead letter lies there.
type PointProperties struct {
	ID     string `json:"id"`
	Code   string `json:"code"`
	Group  string `json:"group"`
	Status string `json:"status"`
}

func (c *Console) points(ctx context.Context, q query) (MapAnswer, error) {
	selected, err := q.selection(c.now())
	if err != nil {
		return MapAnswer{}, err
	}
	out := MapAnswer{Type: "FeatureCollection", Features: []PointFeature{}}
	if out.Fresh, err = c.index.fresh(ctx); err != nil {
		return MapAnswer{}, err
	}
	if out.Total, err = c.letters.Count(ctx, selected); err != nil {
		return MapAnswer{}, err
	}
	selected.Limit = maxPoints
	read := 0
	err = c.letters.Letters(ctx, selected, func(l deadletters.Letter) error {
		read++
		box, err := deadletters.ParseBBox(l.Control.BBox)
		if err != nil {
			out.NoPlace++
			return nil //nolint:nilerr // a dead letter without a place is counted
		}
		out.Features = append(out.Features, PointFeature{
			Type: "Feature", Geometry: PointGeometry{"Point", centre(box)},
			Properties: PointProperties{ID: l.ID, Code: l.Control.ErrorCode, Group: l.Group, Status: dlq.StatusText(l.Status)},
		})
		return nil
	})
	out.LeftOut = max(out.Total-read, 0)
	return out, err
}

// centre returns the middle of a box. That of one over the antimeridian lies within [-180, 180].
func centre(b deadletters.BBox) [2]float64 {
	east := b.East
	if b.Crosses() {
		east += 360
	}
	lon := b.West + (east-b.West)/2
	if b.Crosses() && lon > 180 {
		lon -= 360
	}
	return [2]float64{lon, b.South + (b.North-b.South)/2}
}
