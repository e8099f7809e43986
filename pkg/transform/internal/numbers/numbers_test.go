package numbers

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Equal numbers have one canonical form, and different numbers different ones.
func TestAppendCanonical(t *testing.T) {
	for _, c := range []struct{ literal, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.000", "0"}, {"-0e5", "0"}, {"1", "1"}, {"1.0", "1"}, {"10e-1", "1"}, {"-1.50", "-15e-1"},
		{"1200", "12e2"}, {"1.2E+3", "12e2"}, {"0.0012", "12e-4"}, {"9007199254740993", "9007199254740993"}, {"100000000000000000000001", "100000000000000000000001"},
		{"1e-9223372036854775808", "1e-9223372036854775808"}, {"1E-99999999999999999999", "1e-99999999999999999999"},
	} {
		expect.Equal(t, string(AppendCanonical([]byte("x-"), c.literal)), "x-"+c.want, "S2-4", c.literal)
	}
}

// Numbers of every length are read and written as the standard library and jsontext do it. A byte that is not a digit ends
// the number in every place.
func TestShortNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200_000 {
		scale := math.Pow10(random.IntN(11))
		x := math.Round((2*random.Float64()-1)*math.Pow10(random.IntN(8))*scale) / scale
		long := jsontext.AppendFloat(nil, x, 64)
		short, ok := AppendShort(nil, x)
		must.That(t, !ok || string(short) == string(long), "%v is written %s, not %s", x, short, long)
		text := strconv.AppendFloat(nil, x, 'f', random.IntN(13), 64)
		if random.IntN(4) == 0 {
			text[random.IntN(len(text))] = byte(random.Uint32())
		}
		checkScan(t, append(text, ",0"...))
	}
}

// checkScan compares the number at the start of a text with the result of the library.
func checkScan(t *testing.T, text []byte) {
	t.Helper()
	got, rest, ok := ScanShort(text)
	if !ok {
		return
	}
	literal := text[:len(text)-len(rest)]
	want, err := strconv.ParseFloat(string(literal), 64)
	value := jsontext.Value(literal)
	must.That(t, err == nil && value.IsValid() && got == want && (!math.Signbit(got) || got != 0), "%q is read %v, not %v (%v)", text, got, want, err)
	c := rest[0]
	must.That(t, c-'0' > 9 && (c != '.' || bytes.IndexByte(literal, '.') >= 0) && c|0x20 != 'e', "%q is read only up to %q", text, literal)
}
