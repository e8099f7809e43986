package transform

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// record is a feature of about 1 KB: 33 positions and 8 properties.
func record() []byte {
	var ring []string
	for i := range 33 {
		angle := 2 * math.Pi * float64(i%32) / 32
		ring = append(ring, fmt.Sprintf("[%.7f,%.7f]", 9.5+0.01*math.Cos(angle), 47.1+0.01*math.Sin(angle)))
	}
	return []byte(`{"type":"Feature","id":"parcel-000017","geometry":{"type":"Polygon","coordinates":[[` + strings.Join(ring, ",") +
		`]]},"properties":{"PARZ_ID":"000017","owner":{"name":"Municipality of Vaduz"},"AREA":"1234.5","floors":"3","zone":"W2","updated":"2026-11-21T10:00:00Z","protected":"false","value":1250000}}`)
}

// whole is all that is done to a record but OGC validity: strict decode,
// structure, 3 renames, 4 coercions, rounding, encode, content hash.
func whole(tb testing.TB) func() {
	decimals := 6
	transformer, err := transform.New(transform.Config{
		Fields: []transform.Field{
			{From: "PARZ_ID", To: "parcel_id", Type: transform.TypeInteger, Required: true},
			{From: "owner.name", To: "owner_name", Type: transform.TypeString},
			{From: "AREA", To: "area_m2", Type: transform.TypeNumber},
			{To: "floors", Type: transform.TypeInteger},
			{To: "protected", Type: transform.TypeBoolean},
		},
		Geometry: transform.GeometryRules{RoundDecimals: &decimals},
	})
	if err != nil {
		tb.Fatal(err)
	}
	text := record()
	var canonical []byte
	return func() {
		source, err := transformer.Decode(text)
		if err != nil {
			tb.Fatal(err)
		}
		canonical = transform.AppendCanonical(canonical[:0], source)
		sha256.Sum256(canonical)
		target, err := transformer.Map(tb.Context(), source, nil)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := transformer.Encode(target); err != nil {
			tb.Fatal(err)
		}
	}
}

// standard is what encoding/json needs to read and write the same bytes into and
// out of structs, without any of that work. Of the two usual ways to hold
// coordinates it has the quicker one, which loses heights.
func standard(tb testing.TB) func() {
	type feature struct {
		Type     string `json:"type"`
		ID       string `json:"id"`
		Geometry struct {
			Type        string         `json:"type"`
			Coordinates [][][2]float64 `json:"coordinates"`
		} `json:"geometry"`
		Properties struct {
			ID    string `json:"PARZ_ID"`
			Owner struct {
				Name string `json:"name"`
			} `json:"owner"`
			Area      string  `json:"AREA"`
			Floors    string  `json:"floors"`
			Zone      string  `json:"zone"`
			Updated   string  `json:"updated"`
			Protected string  `json:"protected"`
			Value     float64 `json:"value"`
		} `json:"properties"`
	}
	text := record()
	return func() {
		var f feature
		if err := json.Unmarshal(text, &f); err != nil {
			tb.Fatal(err)
		}
		if _, err := json.Marshal(&f); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkRecord runs both by turns, so that both meet the same machine, and
// reports the processor time of each and their ratio.
func BenchmarkRecord(b *testing.B) {
	ours, theirs := whole(b), standard(b)
	compare(b, ours, theirs, 100)
}

// compare runs two pieces of work by turns.
func compare(b *testing.B, ours, theirs func(), turn int) {
	b.Helper()
	var first, second time.Duration
	n := 0
	for b.Loop() {
		begin := processCPU()
		for range turn {
			ours()
		}
		middle := processCPU()
		for range turn {
			theirs()
		}
		first, second = first+middle-begin, second+processCPU()-middle
		n += turn
	}
	b.ReportMetric(float64(first.Nanoseconds())/float64(n), "ours-"+cpuUnit)
	b.ReportMetric(float64(second.Nanoseconds())/float64(n), "theirs-"+cpuUnit)
	b.ReportMetric(float64(first)/float64(second), "ratio")
	b.ReportMetric(0, "ns/op")
}
