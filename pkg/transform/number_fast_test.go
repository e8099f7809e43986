package transform

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// TestShortNumbers: numbers of every length are read and written as the libraries
// do it, and a byte that is no digit is one in every place.
func TestShortNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200_000 {
		scale := math.Pow10(random.IntN(11))
		x := math.Round((2*random.Float64()-1)*math.Pow10(random.IntN(8))*scale) / scale
		long := jsontext.AppendFloat(nil, x, 64)
		short, ok := appendShort(nil, x)
		must.That(t, !ok || string(short) == string(long), "%v is written %s, not %s", x, short, long)
		text := strconv.AppendFloat(nil, x, 'f', random.IntN(13), 64)
		if random.IntN(4) == 0 {
			text[random.IntN(len(text))] = byte(random.Uint32())
		}
		checkScan(t, append(text, ",0"...))
	}
}

// checkScan holds the number at the start of a text against the library.
func checkScan(t *testing.T, text []byte) {
	t.Helper()
	got, rest, ok := scanShort(text)
	if !ok {
		return
	}
	literal := text[:len(text)-len(rest)]
	want, err := strconv.ParseFloat(string(literal), 64)
	value := jsontext.Value(literal)
	must.That(t, err == nil && value.IsValid() && got == want && (!math.Signbit(got) || got != 0), "%q is read %v, not %v (%v)", text, got, want, err)
	c := rest[0]
	must.That(t, c-'0' > 9 && (c != '.' || bytes.IndexByte(literal, '.') >= 0) && c|0x20 != 'e', "%q is read only as far as %q", text, literal)
}
