package header

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

var someTime = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func TestControlHeadersRoundTrip(t *testing.T) {
	t.Parallel()
	c := Control{
		Attempt: 2, MaxAttempts: 5, Due: someTime, FirstFailedAt: someTime, FailedAt: someTime, SourceTimestamp: someTime,
		ErrorClass: "retry_backoff", ErrorCode: "http_unavailable", ErrorStage: "enrich", ErrorMessage: "503 from places",
		ErrorRequest:  &classify.Request{Step: "place", Method: "GET", URL: "https://h/place", TookMS: 31},
		ErrorResponse: &classify.Response{Status: 503, RequestID: "7f3a", Body: "down"},
		Source:        Position{"features", 3, 1042}, HasSource: true, Generation: 2, ContentHash: "sha256:00", FeatureID: "p-1", BBox: "1,2,3,4",
		RunID: "r", Pipeline: "p", DeadLetterID: "3-1042-aabbccdd", ReplayID: "x", Sequence: 7, ReplayCount: 1,
		ForceVersion: true, ReplaySource: Position{"features", 3, 2048}, ReplayGeneration: 1,
		Lineage: "l", Care: "c", Sovereignty: "s",
		Part: Part{17, 230}, PartVersion: new(int64(-3)), Remaining: &Remaining{Of: 230, Open: []int{3, 4, 5, 17}, Delivered: 11, Dead: 2},
	}
	v := reflect.ValueOf(c)
	must.That(t, !slices.ContainsFunc(fieldNames(v), func(n string) bool { return v.FieldByName(n).IsZero() }), "this test must set every field")
	got, err := ParseControl(c.AppendTo(nil))
	expect.That(t, err == nil && reflect.DeepEqual(got, c), "got %+v, %v", got, err)
	written := c.AppendTo(nil)
	for i, e := range c.table() {
		h := written[i]
		expect.That(t, h.Key == e.key && IsControl(h.Key), "header %d is %s, want %s", i, h.Key, e.key)
		expect.That(t, cap(h.Value) == len(h.Value), "appending to the value of %s would write into the next one", h.Key)
	}
}

func TestControlHeadersLeaveThoseBeforeAlone(t *testing.T) {
	t.Parallel()
	c := Control{Attempt: 2, FeatureID: "p-1"}
	room := make([]kgo.RecordHeader, 1, 4)
	room[0] = kgo.RecordHeader{Key: "a", Value: []byte("1")}
	got := c.AppendTo(slices.Clip(room))
	expect.That(t, len(got) == 3 && got[0].Key == "a" && string(got[1].Value) == "2" && string(got[2].Value) == "p-1", "got %v", got)
	expect.That(t, room[:2][1].Key == "", "the capacity of the given slice was written to")
}

func fieldNames(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		names = append(names, v.Type().Field(i).Name)
	}
	return names
}

func TestControlKnowsEveryHeaderConstant(t *testing.T) {
	t.Parallel()
	file := must.Get(parser.ParseFile(token.NewFileSet(), "key.go", nil, 0))(t)
	known := map[string]bool{KeyReplayProof: true} // what the verification reads
	for _, e := range new(Control).table() {
		known[e.key] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Key") {
			name := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
			expect.That(t, known[name], "Control has no field for %s", name)
		}
		return true
	})
}

func TestMalformedControlHeaderIsAFailureNeverZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, value string }{
		{KeyAttempt, "two"}, {KeyAttempt, "-1"}, {KeyAttempt, ""}, {KeyAttempt, "\x00\x00\x00\x02"},
		{KeyAttempt, "99999999999"}, {KeyDue, "yesterday"}, {KeyDue, "1782907200"}, {KeySource, "features/3"},
		{KeySource, "features/3/-1"}, {KeyReplayCount, "1.5"}, {KeyFeatureID, "\xff"},
		{KeyForceVersion, "yes"}, {KeyForceVersion, ""}, {KeyForceVersion, "True"}, {KeyForceVersion, "false"}, {KeyReplaySource, "3/1"},
		{KeyErrorRequest, "GET /place"}, {KeyErrorRequest, "null"}, {KeyErrorRequest, ""}, {KeyErrorResponse, `{"status":"503"}`}, {KeyErrorResponse, `{"status":-1}`},
	} {
		_, err := ParseControl([]kgo.RecordHeader{{Key: c.key, Value: []byte(c.value)}})
		var malformed *Error
		expect.That(t, errors.As(err, &malformed) && malformed.Header == c.key, "%v: got %v", c.key+"="+c.value, err)
	}
	twice := []kgo.RecordHeader{{Key: KeyAttempt, Value: []byte("1")}, {Key: KeyAttempt, Value: []byte("2")}}
	_, err := ParseControl(twice)
	expect.That(t, err != nil, "a header that occurs twice was read")
	c, err := ParseControl([]kgo.RecordHeader{{Key: "switchback-of-a-newer-version", Value: []byte("x")}})
	expect.That(t, err == nil && reflect.DeepEqual(c, Control{}), "a header of a newer version gives %+v, %v", c, err)
}

func TestOwnHeadersStayBelow8KiB(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 100_000)
	c := Control{
		Attempt: 1 << 30, MaxAttempts: 1 << 30, Due: someTime, FirstFailedAt: someTime, FailedAt: someTime, SourceTimestamp: someTime,
		ErrorClass: long, ErrorCode: long, ErrorStage: long, ErrorMessage: long, HasSource: true,
		ErrorRequest:  &classify.Request{Step: long, Provider: long, Method: long, URL: long, Topic: long, TookMS: 1 << 62},
		ErrorResponse: &classify.Response{Status: 599, RetryAfter: long, RequestID: long, ContentType: long, Body: long, SQLState: long, KafkaError: -1},
		Source:        Position{strings.Repeat("t", 249), 1 << 30, 1 << 62}, Generation: 1 << 30, ContentHash: long, FeatureID: long, BBox: long, RunID: long,
		Pipeline: long, DeadLetterID: long, ReplayID: long, Sequence: 1 << 62, ReplayCount: 1 << 30,
		ForceVersion: true, ReplaySource: Position{strings.Repeat("t", 249), 1 << 30, 1 << 62},
		Lineage: long, Care: long, Sovereignty: long,
	}
	n := 0
	for _, h := range c.AppendTo(nil) {
		n += len(h.Key) + len(h.Value)
	}
	expect.That(t, n < 8<<10, "%d bytes of headers", n)
	c.Part, c.PartVersion, c.Remaining = Part{MaxParts - 1, MaxParts}, new(int64(math.MinInt64)), &Remaining{Of: MaxParts, Delivered: 1, Dead: MaxParts/2 - 1}
	for i := range MaxParts / 2 {
		c.Remaining.Open = append(c.Remaining.Open, 2*i)
	}
	n = 0
	for _, h := range c.AppendTo(nil) {
		n += len(h.Key) + len(h.Value)
	}
	expect.That(t, n < 10<<10 && n < MaxBytes, "%d bytes of headers with those of a part", n)
}

func TestProducerHeadersKeepOrderAndDuplicates(t *testing.T) {
	t.Parallel()
	in := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: KeyDue, Value: []byte("x")}, {Key: "a", Value: []byte("2")}, {Key: "switchback-newer", Value: nil}}
	got := ProducerHeaders(in)
	expect.That(t, reflect.DeepEqual(got, ([]kgo.RecordHeader{in[0], in[2]})), "got %v", got)
}

// The outputs of a worker share memory: none may see another's headers, not even when somebody adds to its own.
func TestSlabKeepsTheHeadersOfOutputsApart(t *testing.T) {
	t.Parallel()
	var s Buffer
	own := []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}
	var all [][]kgo.RecordHeader
	of := func(n int) Control {
		return Control{
			Source: Position{"features", 3, int64(n)}, HasSource: true, FeatureID: strings.Repeat("f", n%maxTextBytes),
			ErrorMessage: strings.Repeat("m", n%maxMessageBytes), Due: time.UnixMilli(int64(n)), ReplayCount: n,
		}
	}
	for n := range 2000 {
		c := of(n)
		headers := s.Append(own, &c)
		all = append(all, headers)
		_ = append(headers, kgo.RecordHeader{Key: "x", Value: []byte("y")})
	}
	for n, got := range all {
		want := of(n).AppendTo(slices.Clip(own))
		must.That(t, reflect.DeepEqual(got, want), "output %d has %s, want %s", n, got, want)
	}
}

func FuzzParseControl(f *testing.F) {
	f.Add(KeyAttempt, []byte("2"))
	f.Add(KeyForceVersion, []byte("true"))
	f.Add(KeyReplaySource, []byte("features/3/1042"))
	f.Add(KeyDue, []byte("2026-07-01T12:00:00.001Z"))
	f.Add(KeySource, []byte("features/3/1042"))
	f.Add(KeyErrorRequest, []byte(`{"step":"place","url":"https://h/place","took_ms":31}`))
	f.Add(KeyErrorResponse, []byte(`{"status":503,"body":"down"}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		c, err := ParseControl([]kgo.RecordHeader{{Key: key, Value: value}})
		if err != nil {
			return
		}
		again := must.Get(ParseControl(c.AppendTo(nil)))(t)
		once, err := ParseControl(again.AppendTo(nil))
		must.That(t, err == nil && reflect.DeepEqual(once, again), "%+v became %+v, %v", again, once, err)
		must.That(t, !keepsItsText(key, len(value)) || c.Due != again.Due || reflect.DeepEqual(again, c), "%+v became %+v", c, again)
	})
}

// keepsItsText reports whether a header of n bytes is short enough to be written as it was read. A request and a
// response are encoded again: see classify.FuzzExchangeText.
func keepsItsText(key string, n int) bool {
	switch key {
	case KeyErrorRequest, KeyErrorResponse:
		return false
	case KeyErrorClass, KeyErrorCode, KeyErrorStage:
		return n <= maxWordBytes-3
	}
	return n <= maxTextBytes-3
}

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
		own := []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00")}}
		got, ok, err := ParsePointer(c.pointer.Append(own))
		expect.That(t, err == nil && ok && reflect.DeepEqual(got, c.want), "%v: got %+v, %v, %v\nwant %+v", name, got, ok, err, c.want)
		expect.That(t, got.Read() != strings.Contains(name, "batch"), "%v: Read() = %v", name, got.Read())
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
	expect.That(t, ok && err != nil, "a header that occurs twice was read")
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
		for range 20 {
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

// Remaining parts or a part number that cannot be right are a malformed header, never a guess.
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

// A plan is JSON: it refuses other bytes, of which a dead letter of other software may have any.
func TestClip_returns_text(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"straße": "straße", "straßen": "straße…", "stra\xff\xfe and more": "stra\uFFFD …", "straßß\xff": "straß…",
	} {
		got := Clip(text, 7)
		expect.That(t, got == want, "%q gives %q, want %q", text, got, want)
	}
}
