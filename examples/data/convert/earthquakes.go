package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// readEarthquakes returns the features of a GeoJSON FeatureCollection, each with its published
// bytes: only white space between tokens goes.
func readEarthquakes(path string) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the earthquakes: %w", err)
	}
	var collection struct {
		Features []json.RawMessage `json:"features"`
	}
	if err := json.Unmarshal(data, &collection); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	features := make([][]byte, 0, len(collection.Features))
	for i, raw := range collection.Features {
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return nil, fmt.Errorf("feature %d of %s: %w", i, path, err)
		}
		features = append(features, line.Bytes())
	}
	return features, nil
}
