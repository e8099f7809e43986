package deadletters

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// BBox is a rectangle in the coordinates of the source, including its edges. If West is above East, it crosses the
// antimeridian (RFC 7946, section 5.2).
type BBox struct{ West, South, East, North float64 }

// ParseBBox parses "west,south,east,north", the form of the header switchback-bbox.
func ParseBBox(text string) (BBox, error) {
	parts := strings.Split(text, ",")
	if len(parts) != 4 {
		return BBox{}, fmt.Errorf("%q is no bounding box; use west,south,east,north such as 9.4,47.0,9.7,47.3", clip(text, 80))
	}
	var n [4]float64
	for i, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return BBox{}, fmt.Errorf("%q is no bounding box: %q is not a finite number", clip(text, 80), clip(part, 40))
		}
		n[i] = v
	}
	if n[1] > n[3] {
		return BBox{}, fmt.Errorf("%q is no bounding box: south %g is above north %g", clip(text, 80), n[1], n[3])
	}
	return BBox{West: n[0], South: n[1], East: n[2], North: n[3]}, nil
}

// String returns the form that [ParseBBox] parses.
func (b BBox) String() string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return text(b.West) + "," + text(b.South) + "," + text(b.East) + "," + text(b.North)
}

// Crosses reports whether the rectangle crosses the antimeridian.
func (b BBox) Crosses() bool { return b.West > b.East }

// MarshalText returns the form that [ParseBBox] parses.
func (b BBox) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText parses the form of [BBox.MarshalText].
func (b *BBox) UnmarshalText(text []byte) error {
	parsed, err := ParseBBox(string(text))
	if err == nil {
		*b = parsed
	}
	return err
}
