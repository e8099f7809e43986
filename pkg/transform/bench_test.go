package transform

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// polygonFeature is a feature of about 1 KB: 33 positions and 8 properties.
func polygonFeature() []byte {
	var ring []string
	for i := range 33 {
		angle := 2 * math.Pi * float64(i%32) / 32
		ring = append(ring, fmt.Sprintf("[%.7f,%.7f]", 9.5+0.01*math.Cos(angle), 47.1+0.01*math.Sin(angle)))
	}
	return []byte(`{"type":"Feature","id":"parcel-000017","geometry":{"type":"Polygon","coordinates":[[` + strings.Join(ring, ",") +
		`]]},"properties":{"PARZ_ID":"000017","owner":{"name":"Municipality of Vaduz"},"AREA":"1234.5","floors":"3","zone":"W2","updated":"2026-11-21T10:00:00Z","protected":"false","value":1250000}}`)
}

// benchmarkConfig renames 3, coerces 4 and rounds.
func benchmarkConfig() Config {
	decimals := 6
	return Config{
		Fields: []Field{
			{From: "PARZ_ID", To: "parcel_id", Type: TypeString, Required: true},
			{From: "owner.name", To: "owner_name", Type: TypeString},
			{From: "AREA", To: "area_m2", Type: TypeNumber},
			{To: "floors", Type: TypeInteger},
			{To: "protected", Type: TypeBoolean},
		},
		Geometry: GeometryRules{RoundDecimals: &decimals},
	}
}

func BenchmarkDecode(b *testing.B) {
	tr, record := mustNew(b, Config{}), polygonFeature()
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.Decode(record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	tr := mustNew(b, Config{})
	f := mustDecode(b, tr, string(polygonFeature()))
	b.ReportAllocs()
	for b.Loop() {
		if err := gateError(b, tr, f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMap(b *testing.B) {
	tr := mustNew(b, benchmarkConfig())
	f := mustDecode(b, tr, string(polygonFeature()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.Map(b.Context(), f, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	tr := mustNew(b, Config{})
	f := mustDecode(b, tr, string(polygonFeature()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.Encode(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	f := mustDecode(b, mustNew(b, Config{}), string(polygonFeature()))
	b.ReportAllocs()
	for b.Loop() {
		sha256.Sum256(Canonical(f))
	}
}

// BenchmarkRecord is all that is done to a record without OGC validity.
func BenchmarkRecord(b *testing.B) {
	tr, record := mustNew(b, benchmarkConfig()), polygonFeature()
	var canonical []byte
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := tr.Decode(record)
		if err != nil {
			b.Fatal(err)
		}
		out, err := tr.Map(b.Context(), f, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tr.Encode(out); err != nil {
			b.Fatal(err)
		}
		canonical = AppendCanonical(canonical[:0], f)
		sha256.Sum256(canonical)
	}
}

// BenchmarkStandardLibrary is what encoding/json takes to read and write the
// same bytes without any of that work.
func BenchmarkStandardLibrary(b *testing.B) {
	type record struct {
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
	text := polygonFeature()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(&r); err != nil {
			b.Fatal(err)
		}
	}
}
