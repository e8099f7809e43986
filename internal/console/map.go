package console

import (
	"context"
	"math"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// The grid of a map. Its cells are about as large as the largest mark.
const mapColumns, mapRows = 40, 20

// MapAnswer is a GeoJSON FeatureCollection of clusters.
type MapAnswer struct {
	Type     string           `json:"type"`
	Fresh    Freshness        `json:"fresh"`
	Degrees  bool             `json:"degrees"` // coordinates are longitude and latitude; otherwise they are those of the source
	View     deadletters.BBox `json:"view"`    // the box that the grid covers, in the coordinates of the source
	NoPlace  int              `json:"no_place"`
	Outside  int              `json:"outside"` // dead letters that reach into the view, but whose centre is outside
	Features []ClusterFeature `json:"features"`
}

// ClusterFeature is a cluster at the mean position of the dead letters of a cell.
type ClusterFeature struct {
	Type       string            `json:"type"`
	Geometry   PointGeometry     `json:"geometry"`
	Properties ClusterProperties `json:"properties"`
}

// PointGeometry is a GeoJSON point.
type PointGeometry struct {
	Type        string     `json:"type"`
	Coordinates [2]float64 `json:"coordinates"`
}

// ClusterProperties describes the dead letters in a cell.
type ClusterProperties struct {
	Letters int              `json:"dead_letters"`
	Pending int              `json:"pending"`
	BBox    deadletters.BBox `json:"bbox"`         // the cell, as a value of the parameter bbox
	ID      string           `json:"id,omitempty"` // of the only dead letter there, if it is known
}

func (c *Console) clusters(ctx context.Context, q query) (MapAnswer, error) {
	selected, err := q.selection(c.now())
	if err != nil {
		return MapAnswer{}, err
	}
	out := MapAnswer{Type: "FeatureCollection", Features: []ClusterFeature{}}
	if out.Fresh, err = c.index.fresh(ctx); err != nil {
		return MapAnswer{}, err
	}
	cells, err := c.letters.Cells(ctx, selected, mapColumns, mapRows)
	if err != nil {
		return MapAnswer{}, err
	}
	toDegrees, err := c.degrees(cells)
	if err != nil {
		return MapAnswer{}, err
	}
	out.Degrees, out.View, out.NoPlace, out.Outside = toDegrees != nil, cells.View, cells.NoPlace, cells.Outside
	for _, cell := range cells.Each {
		x, y := cell.X, cell.Y
		if toDegrees != nil {
			if x, y, err = toDegrees(x, y); err != nil { // the system does not reach there
				out.NoPlace += cell.Letters
				continue
			}
		}
		out.Features = append(out.Features, ClusterFeature{
			Type: "Feature", Geometry: PointGeometry{"Point", [2]float64{x, y}},
			Properties: ClusterProperties{Letters: cell.Letters, Pending: cell.Pending, BBox: cell.Area, ID: cell.ID},
		})
	}
	return out, nil
}

// degrees returns the conversion from the coordinates of the source to longitude and latitude. It is nil if their system
// is unknown and they are not degrees.
func (c *Console) degrees(cells dlqindex.Cells) (dlq.Place, error) {
	way, err := c.letters.Degrees()
	if err != nil || way != nil {
		return way, err
	}
	for _, cell := range cells.Each {
		if math.Abs(cell.X) > 180 || math.Abs(cell.Y) > 90 {
			return nil, nil
		}
	}
	return dlq.AsDegrees, nil
}
