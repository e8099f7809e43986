package demo

import (
	"encoding/json"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// sample is one delivered feature as the report shows it.
type sample struct {
	key        string
	attempts   int
	geometry   string // its type
	properties string // as JSON
}

// samples keeps one feature of each geometry type, the one that took the most attempts.
type samples struct{ byGeometry map[string]sample }

// add takes a delivered record into consideration. One that is no feature is none to show; judging
// it is not the report's work.
func (s *samples) add(r *kgo.Record, c header.Control) {
	var f struct {
		Properties json.RawMessage `json:"properties"`
		Geometry   *struct {
			Type string `json:"type"`
		} `json:"geometry"`
	}
	if json.Unmarshal(r.Value, &f) != nil || f.Geometry == nil {
		return
	}
	if s.byGeometry == nil {
		s.byGeometry = map[string]sample{}
	}
	kind := strings.TrimPrefix(f.Geometry.Type, "Multi")
	if best, ok := s.byGeometry[kind]; !ok || c.Attempt > best.attempts {
		s.byGeometry[kind] = sample{key: string(r.Key), attempts: max(c.Attempt, 1), geometry: f.Geometry.Type, properties: string(f.Properties)}
	}
}
