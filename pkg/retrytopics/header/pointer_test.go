package header

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestPointer_S0_5_says_where_the_original_lies_and_how_to_recognize_it(t *testing.T) {
	t.Parallel()
	value, key := bytes.Repeat([]byte(`{"a":1}`), 1000), []byte("P-1")
	at := Position{Topic: "features", Partition: 3, Offset: 42}
	keySum := sha256.Sum256(key)
	for name, c := range map[string]struct {
		pointer Pointer
		want    Pointer
	}{
		"with its key":    {PointTo(at, key, value, true), Pointer{Position: at, Bytes: 7000, Value: sha256.Sum256(value), Head: value[:1024]}},
		"without its key": {PointTo(at, key, value, false), Pointer{Position: at, Bytes: 7000, Value: sha256.Sum256(value), Head: value[:1024], Key: &keySum}},
		"a null key":      {PointTo(at, nil, value[:3], false), Pointer{Position: at, Bytes: 3, Value: sha256.Sum256(value[:3]), Head: value[:3]}},
		"a batch":         {Pointer{Position: at}, Pointer{Position: at}},
		"an empty value":  {PointTo(at, key, []byte{}, true), Pointer{Position: at, Value: sha256.Sum256(nil)}},
		"the first offset": {
			PointTo(Position{Topic: "x"}, nil, value, true), Pointer{Position: Position{Topic: "x"}, Bytes: 7000, Value: sha256.Sum256(value), Head: value[:1024]},
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00")}}
			got, ok, err := ParsePointer(c.pointer.Append(own))
			expect.That(t, err == nil && ok && reflect.DeepEqual(got, c.want), "got %+v, %v, %v\nwant %+v", got, ok, err, c.want)
			expect.That(t, got.Read() != strings.Contains(name, "batch"), "Read() = %v", got.Read())
		})
	}
	_, ok, err := ParsePointer([]kgo.RecordHeader{{Key: KeySource, Value: []byte("x/0/1")}})
	expect.That(t, !ok && err == nil, "a record without the header has a pointer: %v", err)
	expect.That(t, IsControl(KeyPointer), "the header would go back with a replay")
}

func TestPointer_S0_5_stays_within_its_limit(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(nil)
	p := Pointer{
		Position: Position{Topic: strings.Repeat("t", 249), Partition: math.MaxInt32, Offset: math.MaxInt64 - 1},
		Bytes:    math.MaxInt64, Value: sum, Key: &sum, Head: bytes.Repeat([]byte{0xff}, 5000),
	}
	h := p.Append(nil)[0]
	expect.That(t, len(h.Value) <= MaxPointerBytes, "%d bytes", len(h.Value))
	got, _, err := ParsePointer([]kgo.RecordHeader{h})
	p.Head = p.Head[:MaxPointerHead]
	expect.That(t, err == nil && reflect.DeepEqual(got, p), "got %+v, %v", got, err)
}

func TestParsePointer_S0_5_refuses_what_is_no_pointer(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	for _, text := range []string{
		``, `null`, `{}`, `[]`, `{"topic":"x"`, `{"topic":"a/b","sha256":"` + sum + `"}`, `{"topic":"x","offset":-1}`, `{"topic":"x","partition":-1}`,
		`{"topic":"x","partition":4294967296}`, `{"topic":"x","offset":1.5}`, `{"topic":"x","bytes":-1}`,
		`{"topic":"x","bytes":3}`, `{"topic":"x","bytes":3,"sha256":"ab"}`, `{"topic":"x","bytes":3,"sha256":"` + strings.Repeat("zz", 32) + `"}`,
		`{"topic":"x","bytes":1,"sha256":"` + sum + `","head":"AAAA"}`, `{"topic":"x","sha256":"` + strings.Repeat("0", 64) + `"}`,
		`{"topic":"x","bytes":9,"sha256":"` + sum + `","head":"%"}`, `{"topic":"x","bytes":9,"sha256":"` + sum + `","key_sha256":"ab"}`,
		`{"topic":"x","bytes":9,"sha256":"` + sum + `"}` + strings.Repeat(" ", MaxPointerBytes), `{"topic":"` + strings.Repeat("t", 250) + `"}`,
		strings.Repeat(`[`, MaxPointerBytes),
	} {
		_, ok, err := ParsePointer([]kgo.RecordHeader{{Key: KeyPointer, Value: []byte(text)}})
		var malformed *Error
		expect.That(t, ok && errors.As(err, &malformed) && malformed.Header == KeyPointer, "%.80s: %v, %v", text, ok, err)
	}
	p := PointTo(Position{Topic: "x"}, nil, []byte("v"), true)
	_, ok, err := ParsePointer(p.Append(p.Append(nil)))
	expect.That(t, ok && err != nil, "a header that stands twice was read")
	newer := strings.Replace(string(p.Append(nil)[0].Value), "{", `{"new":[1],`, 1)
	got, ok, err := ParsePointer([]kgo.RecordHeader{{Key: KeyPointer, Value: []byte(newer)}})
	expect.That(t, ok && err == nil && reflect.DeepEqual(got, p), "a member of a newer version: %+v, %v, %v", got, ok, err)
}

func FuzzParsePointer(f *testing.F) {
	for _, p := range []Pointer{PointTo(Position{"features", 3, 42}, []byte("k"), []byte("value"), false), {Position: Position{"features", 3, 42}}} {
		f.Add(p.Append(nil)[0].Value)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ok, err := ParsePointer([]kgo.RecordHeader{{Key: KeyPointer, Value: text}})
		if !ok || err != nil {
			return
		}
		written := p.Append(nil)
		must.That(t, len(written[0].Value) <= MaxPointerBytes, "%d bytes", len(written[0].Value))
		again, ok, err := ParsePointer(written)
		if len(p.Head) == 0 {
			p.Head = nil
		}
		must.That(t, ok && err == nil && reflect.DeepEqual(again, p), "%q: %+v became %+v, %v", text, p, again, err)
	})
}

// Any set of parts goes through its header, within its bound.
func TestRestRoundTrip(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, of := range []int{1, 7, 8, 9, 230, MaxParts} {
		for range 50 {
			r := &Remaining{Of: of}
			share := rnd.Float64()
			for i := range of {
				switch {
				case rnd.Float64() < share:
					r.Open = append(r.Open, i)
				case rnd.IntN(2) == 0:
					r.Dead++
				default:
					r.Delivered++
				}
			}
			if len(r.Open) == 0 {
				continue
			}
			text := r.String()
			got, reason := parseRemaining(text)
			must.That(t, reason == "" && reflect.DeepEqual(got, r) && len(text) <= maxRemainingBytes, "%d bytes %.80s: %s", len(text), text, reason)
			for i := range of {
				must.That(t, got.Has(i) == slices.Contains(r.Open, i), "part %d of %s", i, text)
			}
		}
	}
}

// A rest or a part that cannot be true is a malformed header, never a guess.
func TestRestAndPartAreReadStrictly(t *testing.T) {
	t.Parallel()
	for header, texts := range map[string][]string{
		KeyRemaining: {
			"", "3;0;0", "3;0;0;", "3;0;0;3", "3;0;0;1-0", "3;0;0;1,1", "3;0;0;2,1", "3;0;0;-1", "3;0;0;1;2", "3;2;0;1-2", "3;1;1;0,2", "0;0;0;0",
			"10001;0;0;1", "3;0;0;~", "3;0;0;~AA", "3;0;0;~CA", "3;0;0;~BwA", "3;0;0;~B", "x;0;0;1", "3;0;0;" + strings.Repeat("0", maxRemainingBytes),
		},
		KeyPart:        {"", "1", "3/3", "-1/3", "1/0", "1/2/3", "a/3", " 1/3", "99999999999/999999999999"},
		KeyPartVersion: {"", "x", "1.5", "99999999999999999999"},
	} {
		for _, text := range texts {
			_, err := ParseControl([]kgo.RecordHeader{{Key: header, Value: []byte(text)}})
			expect.That(t, err != nil, "%s %q was read", header, text)
		}
	}
}
