package demo

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"github.com/switchback-geo/switchback/examples"
)

// place is the county in which a feature lies. DistanceKM is 0 inside the county, and otherwise the distance on a sphere
// to the nearest corner of its boundary.
type place struct {
	Name       string  `json:"name"`
	County     string  `json:"county"`
	CountyID   string  `json:"county_id"`
	State      string  `json:"state"`
	DistanceKM float64 `json:"distance_km"`
}

// gazetteer finds places. It is immutable.
type gazetteer struct {
	counties []county
	byID     map[string]int       // county id to its index
	quakes   map[string]orb.Point // earthquake id to its epicentre
}

// county is one county, as published: its shape may be invalid.
type county struct {
	place   place
	shape   orb.MultiPolygon
	bound   orb.Bound
	corners []vector
}

// vector is a point on the unit sphere. Distances are correct across the antimeridian too, which the Aleutians cross.
type vector [3]float64

// newGazetteer reads the embedded counties, states and earthquakes.
func newGazetteer() (*gazetteer, error) {
	states, err := examples.States()
	if err != nil {
		return nil, err
	}
	g := &gazetteer{byID: map[string]int{}, quakes: map[string]orb.Point{}}
	for f, err := range examples.Counties() {
		if err != nil {
			return nil, err
		}
		c, err := newCounty(f, states)
		if err != nil {
			return nil, fmt.Errorf("county %s: %w", f.ID, err)
		}
		g.byID[f.ID] = len(g.counties)
		g.counties = append(g.counties, c)
	}
	for f, err := range examples.Earthquakes() {
		if err != nil {
			return nil, err
		}
		var quake struct {
			Geometry struct{ Coordinates [3]float64 }
		}
		if err := json.Unmarshal(f.JSON, &quake); err != nil {
			return nil, fmt.Errorf("earthquake %s: %w", f.ID, err)
		}
		g.quakes[f.ID] = orb.Point(quake.Geometry.Coordinates[:2])
	}
	return g, nil
}

// newCounty reads a county without judging its geometry.
func newCounty(f examples.Feature, states map[string]string) (county, error) {
	var published struct {
		Properties struct{ Name string }
		Geometry   struct {
			Type        string
			Coordinates json.RawMessage
		}
	}
	if err := json.Unmarshal(f.JSON, &published); err != nil {
		return county{}, err
	}
	shape := orb.MultiPolygon{nil}
	target := any(&shape)
	if published.Geometry.Type == "Polygon" {
		target = &shape[0]
	}
	if err := json.Unmarshal(published.Geometry.Coordinates, target); err != nil {
		return county{}, err
	}
	name, state := published.Properties.Name, states[f.ID[:2]]
	c := county{
		place: place{Name: name + ", " + state, County: name, CountyID: f.ID, State: state},
		shape: shape,
		bound: shape.Bound(),
	}
	for _, polygon := range shape {
		for _, p := range polygon[0] {
			c.corners = append(c.corners, onSphere(p))
		}
	}
	return c, nil
}

// ByID returns the place of a known feature: a county's own, or the one of an earthquake's epicentre.
func (g *gazetteer) ByID(id string) (place, bool) {
	if i, ok := g.byID[id]; ok {
		return g.counties[i].place, true
	}
	if epicentre, ok := g.quakes[id]; ok {
		return g.At(epicentre), true
	}
	return place{}, false
}

// At returns the county that contains p, or the nearest one. p is longitude and latitude.
func (g *gazetteer) At(p orb.Point) place {
	for i := range g.counties {
		if c := &g.counties[i]; c.bound.Contains(p) && planar.MultiPolygonContains(c.shape, p) {
			return c.place
		}
	}
	return g.nearest(onSphere(p))
}

// nearest compares p with every corner of every county: 70,000 products of three, a fraction of a millisecond.
func (g *gazetteer) nearest(p vector) place {
	best, cosine := 0, -2.0
	for i := range g.counties {
		for _, v := range g.counties[i].corners {
			if d := p[0]*v[0] + p[1]*v[1] + p[2]*v[2]; d > cosine {
				best, cosine = i, d
			}
		}
	}
	place := g.counties[best].place
	const earthRadiusKM = 6371
	place.DistanceKM = math.Round(math.Acos(min(cosine, 1))*earthRadiusKM*10) / 10
	return place
}

// onSphere turns longitude and latitude in degrees into a point on the unit sphere.
func onSphere(p orb.Point) vector {
	const radians = math.Pi / 180
	lon, lat := p.Lon()*radians, p.Lat()*radians
	return vector{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
}
