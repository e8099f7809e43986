package crs

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// gieCase is one accept/expect pair of a file for PROJ's program gie, with the
// operation and the settings that it stands under.
type gieCase struct {
	file      string
	line      int
	operation string // or "crs_src … crs_dst …"
	inverse   bool
	tolerance float64 // metres
	accept    []float64
	expect    []float64
	failure   bool // expected
}

// readGie reads the pairs of a file. What stands outside the <gie> tags is prose.
// The commands roundtrip, ignore, banner, echo and require_grid make no pair;
// round trips have tests of their own.
func readGie(t *testing.T, name string) []gieCase {
	t.Helper()
	file := must.Get(os.Open(name))(t)
	defer file.Close()
	r := gieReader{t: t, file: name}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		r.line++
		r.read(scanner.Text())
	}
	must.Do(t, scanner.Err())
	return r.cases
}

type gieReader struct {
	t         *testing.T
	file      string
	line      int
	inside    bool
	continues *string // what a line that begins with no command belongs to
	source    string
	now       gieCase
	cases     []gieCase
}

func (r *gieReader) read(line string) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(strings.ReplaceAll(line, `\`, " "))
	if len(words) == 0 || strings.HasPrefix(words[0], "---") || strings.HasPrefix(words[0], "===") {
		return
	}
	command, rest := words[0], strings.Join(words[1:], " ")
	switch {
	case strings.HasPrefix(command, "<gie"):
		r.inside = true
		return
	case strings.HasPrefix(command, "</gie"):
		r.inside = false
		return
	case !r.inside:
		return
	}
	wasContinued := r.continues
	r.continues = nil
	switch command {
	case "operation", "crs_src":
		r.now = gieCase{file: r.file, operation: rest, tolerance: 0.5e-3}
		r.continues = &r.now.operation
		if command == "crs_src" {
			r.now.operation, r.source, r.continues = "", rest, nil
		}
	case "crs_dst":
		r.now.operation = "crs " + r.source + " " + rest
	case "tolerance":
		r.now.tolerance = gieLength(r.t, words[1:])
	case "direction":
		r.now.inverse = strings.HasPrefix(rest, "i") || strings.HasPrefix(rest, "r")
	case "accept":
		r.now.accept, r.now.line = gieNumbers(words[1:]), r.line
	case "expect":
		c := r.now
		if c.failure = words[1] == "failure"; !c.failure {
			c.expect = gieNumbers(words[1:])
		}
		if c.accept == nil {
			c.line = r.line
		}
		r.cases = append(r.cases, c)
	case "roundtrip", "ignore", "banner", "echo", "require_grid", "skip", "verbose", "use_proj4_init_rules":
	default:
		if wasContinued != nil {
			*wasContinued += " " + strings.Join(words, " ")
			r.continues = wasContinued
		}
	}
}

// gieLength reads a length such as "50 nm" in metres; no unit is metres.
func gieLength(t *testing.T, words []string) float64 {
	units := map[string]float64{"nm": 1e-9, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1, "km": 1000, "deg": 111320}
	number := strings.TrimRight(words[0], "numckdeg")
	unit := strings.TrimPrefix(words[0], number)
	if len(words) > 1 {
		unit = words[1]
	}
	v, err := strconv.ParseFloat(number, 64)
	factor, ok := units[unit]
	if unit == "" {
		factor, ok = 1, true
	}
	if err != nil || !ok {
		t.Fatalf("cannot read the tolerance %q", words)
	}
	return v * factor
}

// gieNumbers reads numbers and angles such as 80d32'30.000W and 2_138_028.224; one
// that cannot be read ends the list.
func gieNumbers(words []string) []float64 {
	out := []float64{}
	for _, w := range words {
		v, ok := gieAngle(strings.ReplaceAll(w, "_", ""))
		if !ok {
			break
		}
		out = append(out, v)
	}
	return out
}

// gieAngle reads a number, or degrees, minutes and seconds with a hemisphere.
func gieAngle(word string) (float64, bool) {
	if v, err := strconv.ParseFloat(word, 64); err == nil {
		return v, true
	}
	sign := 1.0
	if rest := strings.TrimRight(word, "SsWw"); rest != word {
		sign, word = -1, rest
	}
	word = strings.TrimRight(word, "NnEe")
	var value, unit float64 = 0, 1
	for _, separator := range []string{"d", "'", `"`} {
		part, rest, found := strings.Cut(word, separator)
		if !found {
			part, rest = word, ""
		}
		if part != "" {
			v, err := strconv.ParseFloat(part, 64)
			if err != nil {
				return 0, false
			}
			if v < 0 {
				sign, v = -sign, -v
			}
			value += v * unit
		}
		word, unit = rest, unit/60
	}
	return sign * value, word == ""
}
