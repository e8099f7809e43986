package transform

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzShortNumbers: the short way to write and to read a number gives what the
// long way gives, to the last bit.
func FuzzShortNumbers(f *testing.F) {
	for _, x := range []float64{0.1, 9.5, -47.1234567, 1e-6, 9.999999e-7, 1e7, 9999999.9999999, 0.30000000000000004, 123456.7890123456, 5e-324} {
		f.Add(math.Float64bits(x), strconv.FormatFloat(x, 'f', -1, 64))
	}
	f.Add(uint64(1), "-0")
	f.Add(uint64(1), "00.1")
	f.Add(uint64(1), "0.000000000000001")
	f.Add(uint64(1), "123456789012345")
	f.Fuzz(func(t *testing.T, bits uint64, text string) {
		number := math.Float64frombits(bits)
		for _, x := range []float64{number, math.Round(number*1e7) / 1e7, math.Round(math.Mod(number, 1e5)*1e9) / 1e9} {
			short, ok := appendShort(nil, x)
			if long := jsontext.AppendFloat(nil, x, 64); ok && string(short) != string(long) {
				t.Fatalf("%v is written %s, not %s", x, short, long)
			}
		}
		x, rest, ok := scanShort([]byte(text))
		if !ok {
			return
		}
		literal := text[:len(text)-len(rest)]
		long, err := strconv.ParseFloat(literal, 64)
		if value := jsontext.Value(literal); err != nil || !value.IsValid() {
			t.Fatalf("%q is no number: %v", literal, err)
		}
		if x != long || math.Signbit(x) && x == 0 {
			t.Fatalf("%q is read %v, not %v", literal, x, long)
		}
	})
}

// TestShortNumbers: numbers of every length are read and written as the libraries
// do it, and a byte that is no digit is one in every place.
func TestShortNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200_000 {
		scale := math.Pow10(random.IntN(11))
		x := math.Round((2*random.Float64()-1)*math.Pow10(random.IntN(8))*scale) / scale
		long := jsontext.AppendFloat(nil, x, 64)
		if short, ok := appendShort(nil, x); ok && string(short) != string(long) {
			t.Fatalf("%v is written %s, not %s", x, short, long)
		}
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
	if value := jsontext.Value(literal); err != nil || !value.IsValid() || got != want || math.Signbit(got) && got == 0 {
		t.Fatalf("%q is read %v, not %v (%v)", text, got, want, err)
	}
	if c := rest[0]; c-'0' <= 9 || c == '.' && bytes.IndexByte(literal, '.') < 0 || c|0x20 == 'e' {
		t.Fatalf("%q is read only as far as %q", text, literal)
	}
}

// TestFastScan: coordinates that the fast way reads are the same as those that
// the careful way reads.
func TestFastScan(t *testing.T) {
	slow := Limits{MaxNumberBytes: shortBytes - 1}
	for _, geometry := range []string{
		`{"type":"Point","coordinates":[1.5,-2]}`,
		`{"coordinates" : [ [ 1 , 2 , 3 ] ,[4,5]] , "type":"LineString"}`,
		`{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]],[[1,0.5],[3,2.5],[3,1],[1,0.5]]]}`,
		`{"type":"MultiPolygon","coordinates":[[[[0,0,1],[4,0],[4,4],[0,0,1]]],[[[10,0],[14,0],[14,4],[10,0]]]]}`,
		`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"Point","coordinates":[1,2,3]}]}`,
		`{"type":"LineString","coordinates":[[1e0,2],[3,0.1234567890123456789]]}`,
		`{"type":"Polygon","coordinates":[]}`, `{"type":"Point","coordinates":[1]}`, `{"type":"Point","coordinates":[1,2,3,4]}`,
		`{"type":"Point","coordinates":[01,2]}`, `{"type":"Point","coordinates":[1,2`, `{"type":"Point","coordinates":[1,2,]}`,
		`{"type":"LineString","coordinates":[[1,2],3]}`, `{"type":"Polygon","coordinates":[[1,2],[3,4]]}`, `{"type":"LineString","coordinates":[[1,2],[[3,4]]]}`,
	} {
		fast := mustNew(t, Config{})
		f, err := fast.Decode([]byte(feature(geometry)))
		careful := mustNew(t, Config{Limits: slow})
		g, want := careful.Decode([]byte(feature(geometry)))
		if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Errorf("%s: %v, and carefully %v", geometry, err, want)
			continue
		}
		if err == nil && mustEncode(t, fast, f) != mustEncode(t, careful, g) {
			t.Errorf("%s: %s, and carefully %s", geometry, mustEncode(t, fast, f), mustEncode(t, careful, g))
		}
	}
}
