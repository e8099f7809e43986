package crs

import (
	"fmt"
	"strconv"
	"strings"
)

// MissingGridError says that a grid is known for two systems, that no file of it is
// loaded, and that parameters are not wanted.
type MissingGridError struct {
	From, To *CRS
	Files    []string // any of these would do
}

// Error says which files would do.
func (e *MissingGridError) Error() string {
	return fmt.Sprintf("no grid file for %s (%s) to %s (%s): add %s, or allow the operation by parameters",
		e.From.code, e.From.name, e.To.code, e.To.name, strings.Join(e.Files, " or "))
}

// longest is how much of a foreign text is repeated in a message.
const longest = 80

func cut(s string) string {
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return s
}

// Reason says why a coordinate cannot be transformed.
type Reason string

const (
	// ReasonNonFinite is a coordinate that is no number, or infinite.
	ReasonNonFinite Reason = "non_finite"
	// ReasonOutsideSource is a coordinate that the source CRS does not reach: it
	// is wrong, swapped, or belongs to another CRS.
	ReasonOutsideSource Reason = "outside_source"
	// ReasonOutsideTarget is a place that the target CRS does not reach.
	ReasonOutsideTarget Reason = "outside_target"
	// ReasonOutsideGrid is a place that no grid file covers, where [OutsideRefuse]
	// was asked for.
	ReasonOutsideGrid Reason = "outside_grid"
)

// Reasons lists every [Reason].
func Reasons() []Reason {
	return []Reason{ReasonNonFinite, ReasonOutsideSource, ReasonOutsideTarget, ReasonOutsideGrid}
}

// RangeError says that a coordinate is outside what a CRS reaches. It is
// permanent, and about this coordinate only.
type RangeError struct {
	Reason Reason
	CRS    *CRS    // whose domain is exceeded
	X, Y   float64 // the coordinate as it was given, in its order
}

// hinted is how many candidates a hint names.
const hinted = 5

// Hint says what the coordinate looks like ([Guess]), as a sentence without its
// end, or "" when nothing can be said.
func (e *RangeError) Hint() string {
	if e.Reason != ReasonOutsideSource {
		return ""
	}
	lon, lat := e.X, e.Y
	if e.CRS.order == AxisYX {
		lon, lat = lat, lon
	}
	if e.CRS.Unit() == Degree && lon > 180 && lon <= 360 && lat >= -90 && lat <= 90 {
		return "the longitude looks counted from 0 to 360: subtract 360"
	}
	guesses := Guess(e.X, e.Y)
	if len(guesses) == 0 {
		return ""
	}
	var words []string
	for _, g := range guesses[:min(hinted, len(guesses))] {
		words = append(words, g.String())
	}
	hint := "these numbers look like " + strings.Join(words, " or ")
	if more := len(guesses) - hinted; more > 0 {
		hint += fmt.Sprintf(", or like %d others", more)
	}
	return hint
}

// Error says where the limit is and what the numbers look like.
func (e *RangeError) Error() string {
	at := number64(e.X) + ", " + number64(e.Y)
	switch e.Reason {
	case ReasonNonFinite:
		return "the coordinate " + at + " is not finite"
	case ReasonOutsideGrid:
		return "the coordinate " + at + " of " + e.CRS.code + " (" + e.CRS.name + ") is a place that the grid file does not cover"
	case ReasonOutsideTarget:
		return fmt.Sprintf("the coordinate %s is a place that %s (%s) does not reach; it goes from %s",
			at, e.CRS.code, e.CRS.name, e.CRS.Domain().lonLat())
	default:
		message := fmt.Sprintf("the coordinate %s is outside %s (%s), which goes from %s",
			at, e.CRS.code, e.CRS.name, e.CRS.Domain().lonLat())
		if hint := e.Hint(); hint != "" {
			message += "; " + hint
		}
		return message
	}
}

// number64 writes a number with as many digits as it has.
func number64(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
