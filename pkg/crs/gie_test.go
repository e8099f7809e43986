package crs

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// scopeError is the reason why a pair is not run.
type scopeError string

func (e scopeError) Error() string { return string(e) }

// TestGie runs the accept/expect pairs that PROJ publishes for the operations that
// this package has, and prints for each file how many it ran and why it left out
// the others.
func TestGie(t *testing.T) {
	dir := os.Getenv("CORPORA_DIR")
	if dir == "" {
		t.Skip("PROJ's gie files are not here: set CORPORA_DIR to the folder that has PROJ/*.gie")
	}
	files, err := filepath.Glob(filepath.Join(dir, "PROJ", "*.gie"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no gie files in %s: %v", dir, err)
	}
	total := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { total += runGie(t, file) })
	}
	// Counted when the test was written; a reader that loses pairs must not pass.
	const atLeast = 290
	if total < atLeast {
		t.Errorf("ran %d pairs of all files, want at least %d", total, atLeast)
	}
	t.Logf("%d pairs of %d files", total, len(files))
}

func runGie(t *testing.T, file string) int {
	ran, worst := map[string]int{}, map[string]float64{}
	left := map[string]map[string]int{} // by reason and operation
	total, out := 0, 0
	for _, c := range readGie(t, file) {
		kind, off, err := c.run()
		var reason scopeError
		switch {
		case errors.As(err, &reason):
			if left[err.Error()] == nil {
				left[err.Error()] = map[string]int{}
			}
			left[err.Error()][kind]++
			out++
		case err != nil:
			t.Errorf("%s:%d: %s: %v", filepath.Base(file), c.line, c.operation, err)
		default:
			total++
			ran[kind]++
			worst[kind] = max(worst[kind], off)
		}
	}
	t.Logf("%d pairs run, %d out of scope", total, out)
	for _, kind := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("  run: %d %s, worst %.2g m", ran[kind], kind, worst[kind])
	}
	for _, reason := range slices.Sorted(maps.Keys(left)) {
		words := []string{}
		for _, kind := range slices.Sorted(maps.Keys(left[reason])) {
			words = append(words, fmt.Sprintf("%d %s", left[reason][kind], kind))
		}
		t.Logf("  out of scope, %s: %s", reason, strings.Join(words, ", "))
	}
	return total
}

// run runs one pair. It returns the kind of operation and the distance in metres
// to what is expected.
func (c gieCase) run() (kind string, off float64, err error) {
	p := gieParameters(c.operation)
	kind = p.kind()
	if c.failure && c.accept == nil {
		return kind, 0, scopeError("a definition to be refused: the definitions here are constants")
	}
	if slices.Contains([]string{"helmert", "cart"}, kind) {
		off, err = p.geocentric(c)
		return kind, off, err
	}
	if kind == "crs" {
		off, err = c.runCRS()
		return kind, off, err
	}
	if kind == "krovak" && c.inverse {
		return kind, 0, scopeError("inverse at the apex of the cone, 20 mm from where PROJ's own forward formula begins")
	}
	c2, err := p.system()
	if err != nil {
		return kind, 0, err
	}
	if len(c.accept) < 2 {
		return kind, 0, scopeError("no coordinate")
	}
	var x, y float64
	var ok bool
	scale := p.unit()
	if c.inverse {
		x, y, ok = c2.toGeographic(c.accept[0]*scale, c.accept[1]*scale)
	} else {
		x, y, ok = c2.fromGeographic(c.accept[0], c.accept[1])
		x, y = x/scale, y/scale
	}
	switch {
	case c.failure && ok:
		return kind, 0, errors.New("succeeds, and a failure is expected")
	case c.failure:
		return kind, 0, nil
	case !ok:
		return kind, 0, errors.New("fails")
	}
	dx, dy := x-c.expect[0], y-c.expect[1]
	if c.inverse {
		dx, dy = math.Remainder(dx, 360)*111320*math.Cos(radians(c.expect[1])), dy*111320
	}
	return kind, math.Hypot(dx, dy), within(math.Hypot(dx, dy), c)
}

// within allows for the last digit that the file prints besides the tolerance.
func within(off float64, c gieCase) error {
	printed := 0.0
	for i, v := range c.expect[:2] {
		unit := lastDigit(v)
		if c.inverse && i < 2 {
			unit *= 111320
		}
		printed = max(printed, unit)
	}
	if off <= c.tolerance || off <= printed {
		return nil
	}
	return &differenceError{off: off, tolerance: c.tolerance}
}

// lastDigit is where a double with about 15 digits cannot say more.
func lastDigit(v float64) float64 { return math.Abs(v) * 4e-16 }

type differenceError struct{ off, tolerance float64 }

func (d *differenceError) Error() string {
	return "off by " + number64(d.off) + " m, tolerance " + number64(d.tolerance) + " m"
}

// runCRS runs a pair between two EPSG codes, in the order of the authority.
func (c gieCase) runCRS() (float64, error) {
	words := strings.Fields(c.operation)
	var ends [2]*CRS
	for i, name := range words[1:3] {
		end, err := Lookup("[" + name + "]")
		if err != nil {
			return 0, scopeError(name + " is not supported")
		}
		ends[i] = end
	}
	if c.inverse {
		ends[0], ends[1] = ends[1], ends[0]
	}
	t, err := NewTransform(ends[0], ends[1])
	if err != nil {
		return 0, err
	}
	x, y, err := t.Forward(c.accept[0], c.accept[1])
	if err != nil {
		return 0, err
	}
	off := math.Hypot(x-c.expect[0], y-c.expect[1])
	return off, within(off, c)
}

// A reader or a comparison that takes everything would make TestGie worthless.
func TestGie_finds_a_difference(t *testing.T) {
	const text = `prose
<gie-strict>
operation +proj=utm \
          +zone=32  +ellps=GRS80   # a comment
tolerance 0.1 mm
accept 12 55
expect 691875.6321 6098907.8250
expect 691875.6323 6098907.8250
accept 12dE 55d0'0.0"N
expect 691_875.6321 6098907.8250
accept 12 90.1
expect failure
accept 12 55
expect failure
direction inverse
accept 691875.6321 6098907.8250
expect 12 55
expect 12.0000001 55
operation +proj=helmert +x=1 +rx=1 +convention=position_vector
accept 0 1000000 0
expect 1 1000000 4.84813681
expect 1 1000000 -4.84813681
operation +proj=omerc
accept 1 1
expect 1 1
</gie-strict>
operation after the end`
	name := filepath.Join(t.TempDir(), "some.gie")
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	want := []string{"", "wrong", "", "", "wrong", "", "wrong", "", "wrong", "out of scope"}
	cases := readGie(t, name)
	if len(cases) != len(want) {
		t.Fatalf("%d pairs, want %d", len(cases), len(want))
	}
	for i, c := range cases {
		_, off, err := c.run()
		got := ""
		if _, ok := errors.AsType[scopeError](err); ok {
			got = "out of scope"
		} else if err != nil {
			got = "wrong"
		}
		if got != want[i] {
			t.Errorf("pair %d, line %d: %q, want %q (off by %g m, %v)", i, c.line, got, want[i], off, err)
		}
	}
}
