package main

import (
	"encoding/json"
	"fmt"
)

// geometry is a GeoJSON Polygon or MultiPolygon.
type geometry struct {
	Type        string `json:"type"`
	Coordinates any    `json:"coordinates"`
}

// feature is a GeoJSON Feature (RFC 7946, section 3.2).
type feature struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Properties json.RawMessage `json:"properties"`
	Geometry   geometry        `json:"geometry"`
}

// features returns one GeoJSON Feature per object of the named collection, in published order.
func (t *topology) features(collection string) ([][]byte, error) {
	var features [][]byte
	for _, o := range t.Objects[collection].Geometries {
		g, err := t.geometry(o)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", collection, o.ID, err)
		}
		line, err := json.Marshal(feature{Type: "Feature", ID: o.ID, Properties: o.Properties, Geometry: g})
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", collection, o.ID, err)
		}
		features = append(features, line)
	}
	return features, nil
}

// geometry joins an object's arcs.
func (t *topology) geometry(o object) (geometry, error) {
	switch o.Type {
	case "Polygon":
		var rings [][]int
		if err := json.Unmarshal(o.Arcs, &rings); err != nil {
			return geometry{}, fmt.Errorf("arcs: %w", err)
		}
		return geometry{Type: o.Type, Coordinates: t.polygon(rings)}, nil
	case "MultiPolygon":
		var polygons [][][]int
		if err := json.Unmarshal(o.Arcs, &polygons); err != nil {
			return geometry{}, fmt.Errorf("arcs: %w", err)
		}
		coordinates := make([][][][2]float64, 0, len(polygons))
		for _, rings := range polygons {
			coordinates = append(coordinates, t.polygon(rings))
		}
		return geometry{Type: o.Type, Coordinates: coordinates}, nil
	default:
		return geometry{}, fmt.Errorf("type %q is neither Polygon nor MultiPolygon", o.Type)
	}
}

// names returns a JSON object of id and name of the named collection, with sorted keys.
func (t *topology) names(collection string) ([]byte, error) {
	names := map[string]string{}
	for _, o := range t.Objects[collection].Geometries {
		var p struct{ Name string }
		if err := json.Unmarshal(o.Properties, &p); err != nil {
			return nil, fmt.Errorf("%s %s: %w", collection, o.ID, err)
		}
		names[o.ID] = p.Name
	}
	data, err := json.MarshalIndent(names, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the names of %s: %w", collection, err)
	}
	return append(data, '\n'), nil
}
