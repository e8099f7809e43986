package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// watched returns a pipeline whose Made hook records its calls, or fails.
func watched(t *testing.T, rest string, fail error) (*pipeline.Pipeline, *[]string) {
	t.Helper()
	p := build(t, rest)
	encoder, err := transform.New(transform.Config{})
	must.Do(t, err)
	var calls []string
	p.Observe(pipeline.Hooks{
		Mapped: func(*retrytopics.Record, *transform.Feature, bool) error { return nil },
		Made: func(_ context.Context, m pipeline.Made) error {
			version := "-"
			if m.Version != nil {
				version = fmt.Sprint(*m.Version)
			}
			for _, part := range m.Parts {
				var content []byte
				if part.Feature != nil {
					if content, err = encoder.Encode(part.Feature); err != nil || part.Bytes == 0 {
						t.Errorf("%d bytes: %v", part.Bytes, err)
					}
				}
				calls = append(calls, fmt.Sprintf("%s v%s delete=%v %s %.7s", part.Key, version, m.Delete, content, part.ContentHash))
			}
			return fail
		},
	})
	return p, &calls
}

// S0-6: the sink gets the content of each output, in every format, and nothing for a record without an output.
func TestHandle_S0_6_tellsWhatARecordBecomes(t *testing.T) {
	const mapping = "transform: { unmapped: drop, fields: [{ from: NAME, to: name }], filter: 'properties.NAME != \"hidden\"' }\n"
	const content = `{"type":"Feature","id":"p-1","geometry":{"type":"Point","coordinates":[8.5,47.3]},"properties":{"name":"a"}}`
	one := fmt.Sprintf(feature, "7")
	for name, c := range map[string]struct {
		rest, value string
		want        []string
	}{
		"geojson":    {"source: { version: properties.updated }\n" + mapping, one, []string{"k v7 delete=false " + content + " sha256:"}},
		"avro":       {singleObjectOutput + mapping, one, []string{"k v- delete=false " + content + " sha256:"}},
		"delete":     {mapping, "", []string{"k v- delete=true  sha256:"}},
		"left_out":   {mapping, strings.Replace(one, `"a"`, `"hidden"`, 1), nil},
		"bad":        {mapping, "{", nil},
		"collection": {"source: { split: features }\n" + mapping, collection(part(`"a"`, "x"), part(`"b"`, "hidden")), []string{`a v- delete=false {"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"x"}} sha256:`}},
		"none_of_it": {"source: { split: features }\n" + mapping, collection(part(`"b"`, "hidden")), nil},
	} {
		p, calls := watched(t, c.rest, nil)
		r := record(c.value)
		if c.value == "" {
			r.Value = nil
		}
		_, _ = p.Handle(t.Context(), r)
		expect.Equal(t, strings.Join(*calls, "\n"), strings.Join(c.want, "\n"), name)
	}
}

// If the output cannot be written, the attempt fails with the record's identity and without an output.
func TestHandle_whatCannotBeWrittenIsAFailedAttempt(t *testing.T) {
	broken := classify.WithStage(classify.StageSink, errors.New("no table"))
	for name, c := range map[string]struct{ rest, value string }{
		"feature":    {"", fmt.Sprintf(feature, "7")},
		"delete":     {"", ""},
		"collection": {"source: { split: features }\n", collection(part(`"a"`, "x"))},
	} {
		p, _ := watched(t, c.rest, broken)
		r := record(c.value)
		if c.value == "" {
			r.Value = nil
		}
		result, err := p.Handle(t.Context(), r)
		expect.That(t, errors.Is(err, broken) && len(result.Outputs) == 0 && result.ContentHash != "" && classify.Of(err).Stage == classify.StageSink, "%v: %+v, %v", name, result, err)
	}
}

// Features of many sizes are hashed concurrently, with reused buffers. Each hash is that of its own content.
func TestHandle_S2_4_hashesInBuffersOfItsOwn(t *testing.T) {
	p := build(t, "")
	alone := must.Get(transform.New(transform.Config{}))(t)
	const workers, events = 8, 200
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range events {
				value := fmt.Sprintf(feature, `"`+strings.Repeat(string(rune('a'+worker)), i*37%1500)+`"`)
				result, err := p.Handle(t.Context(), record(value))
				if err != nil {
					t.Error(err)
					return
				}
				source, err := alone.Decode([]byte(value))
				if err != nil {
					t.Error(err)
					return
				}
				want := idempotency.Of(transform.Canonical(source)).String()
				expect.That(t, result.ContentHash == want, "worker %d, event %d: hash %s, want %s", worker, i, result.ContentHash, want)
			}
		})
	}
	group.Wait()
}

// Two events of a key with different outputs have different content hashes. Otherwise the second one would be closed as
// a duplicate, and lost.
func TestHandle_S0_6_twoOutputsAreTwoContents(t *testing.T) {
	const point = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[500000,5000000]},"properties":{"a":1}%s}`
	const located = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"a":1}%s}`
	crs := func(name string) string { return `,"crs":{"type":"name","properties":{"name":"` + name + `"}}` }
	for name, c := range map[string]struct{ rest, base, one, two string }{
		"foreign_member":  {"", located, `,"status":"open"`, `,"status":"closed"`},
		"bbox":            {"", located, `,"bbox":[7,46,9,48]`, `,"bbox":[8,47,8,47]`},
		"json_fg_time":    {"source: { format: jsonfg }\n", located, `,"time":{"date":"2026-01-01"}`, `,"time":{"date":"2026-01-02"}`},
		"crs":             {"transform: { geometry: { declared_crs: use } }\n", point, crs("EPSG:25832"), crs("EPSG:25833")},
		"in_a_collection": {"source: { split: features }\n", `{"type":"FeatureCollection","features":[` + located + `]}`, `,"status":"open"`, `,"status":"closed"`},
	} {
		p := build(t, c.rest)
		var outputs, hashes [2]string
		for i, more := range [...]string{c.one, c.two} {
			r := record(fmt.Sprintf(c.base, more))
			result := must.Get(p.Handle(t.Context(), r))(t)
			outputs[i], hashes[i] = string(result.Outputs[0].Value), result.ContentHash
			expect.Equal(t, p.Identify(t.Context(), r.Key, []kgo.RecordHeader(nil), r.Value).ContentHash, hashes[i], name, "the consumer computes content hash")
		}
		expect.That(t, outputs[0] != outputs[1] && hashes[0] != hashes[1], "%v: %s and %s have the hashes %s and %s", name, outputs[0], outputs[1], hashes[0], hashes[1])
	}
}

// The clock of these tests shows midnight UTC, 2000-01-01: 946,684,800 s.
func TestVersion_S0_8_farAheadOfTheClock(t *testing.T) {
	const future, bad = classify.CodeVersionInFuture, classify.CodeCoercionFailed
	for name, c := range map[string]struct {
		source, updated string
		want            int64
		code            classify.Code
	}{
		"now":                            {"", `"2000-01-01T00:00:00Z"`, 946684800e9, ""},
		"fractions of a second":          {"", `"1999-07-01T12:00:00.5Z"`, 930830400500000000, ""},
		"a number as text":               {"", `"946684800123"`, 946684800123, ""},
		"no time and no number":          {"", `"yesterday"`, 0, bad},
		"null":                           {"", "null", 0, classify.CodeMissingRequired},
		"the last that passes":           {"", `"2000-01-01T01:00:00Z"`, 946688400e9, ""},
		"one nanosecond more":            {"", `"2000-01-01T01:00:00.000000001Z"`, 0, future},
		"another zone":                   {"", `"2000-01-01T03:00:00+02:00"`, 946688400e9, ""},
		"an offset that no time has":     {"", `"2000-01-01T00:00:00+24:00"`, 0, bad},
		"beyond 64 bits of nanoseconds":  {"", `"9999-12-31T23:59:59Z"`, 0, future},
		"before them":                    {"", `"1600-01-01T00:00:00Z"`, 0, bad},
		"a limit of its own":             {", max_version_ahead: 24h", `"2000-01-01T23:00:00Z"`, 946767600e9, ""},
		"beyond it":                      {", max_version_ahead: 24h", `"2000-01-02T00:00:01Z"`, 0, future},
		"a number that is not a time":    {"", "9000000000000000", 9e15, ""},
		"a revision":                     {", version_form: number", "9000000000000000", 9e15, ""},
		"a time for a revision":          {", version_form: number", `"2000-01-01T00:00:00Z"`, 0, bad},
		"9e15 as milliseconds":           {", version_form: unix_ms", "9000000000000000", 0, future},
		"milliseconds":                   {", version_form: unix_ms", "946688400000", 946688400e3, ""},
		"a millisecond more":             {", version_form: unix_ms", "946688400001", 0, future},
		"seconds":                        {", version_form: unix_s", "946688400", 946688400, ""},
		"milliseconds for seconds":       {", version_form: unix_s", "946684800000", 0, future},
		"microseconds":                   {", version_form: unix_us", "946688400000001", 0, future},
		"nanoseconds":                    {", version_form: unix_ns", "946688400000000001", 0, future},
		"the largest number":             {", version_form: unix_ns", "9223372036854775807", 0, future},
		"beyond 64 bits":                 {", version_form: unix_ns", "9223372036854775808", 0, bad},
		"a time for milliseconds":        {", version_form: unix_ms", `"2000-01-01T00:00:00Z"`, 0, bad},
		"9e15 among times":               {", version_form: rfc3339", "9000000000000000", 0, bad},
		"nothing but times":              {", version_form: rfc3339", `"2000-01-01T00:00:00Z"`, 946684800e9, ""},
		"nothing but times, in the past": {", version_form: rfc3339", `"1999-01-01T00:00:00Z"`, 915148800e9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := build(t, "source: { version: properties.updated"+c.source+" }\n")
				result, err := p.Handle(t.Context(), record(fmt.Sprintf(feature, c.updated)))
				switch {
				case c.code != "":
					var e *transform.Error
					expect.That(t, errors.As(err, &e) && e.Code == c.code && result.Version == nil, "version %v, %v; want %s", result.Version, err, c.code)
				case err != nil || result.Version == nil || *result.Version != c.want:
					t.Errorf("version %v, %v; want %d", result.Version, err, c.want)
				}
			})
		})
	}
}

// A feature of a collection fails independently, and its version is independent of the others. With all or nothing, the
// collection is refused. The dry run agrees, and a replay passes once the time has come.
func TestVersion_S0_8_collectionsDryRunAndReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := build(t, "source: { version: properties.updated, split: features }\n")
		whole := build(t, "source: { version: properties.updated, split: features, collections: all_or_nothing }\n")
		one, two := fmt.Sprintf(feature, `"2000-01-01T00:00:00Z"`), strings.Replace(fmt.Sprintf(feature, `"2000-01-01T05:00:00Z"`), "p-1", "p-2", 1)
		collection := `{"type":"FeatureCollection","features":[` + one + "," + two + `]}`
		_, err := whole.Handle(t.Context(), record(collection))
		expect.That(t, err != nil && strings.Contains(err.Error(), "/features/1/properties/updated"), "got %v", err)
		r, err := p.Handle(t.Context(), record(collection))
		expect.That(t, err == nil && len(r.Outputs) == 1 && len(r.Failed) == 1 && strings.Contains(r.Failed[0].Err.Error(), "/features/1/properties/updated"), "%+v, %v", r, err)
		now := time.Now().UnixNano()
		expect.That(t, r.Version != nil && *r.Version <= now, "the version of the collection is %v, now it is %d", r.Version, now)
		if _, err := p.Try(t.Context(), record(two)); err == nil {
			t.Error("the dry run lets it pass")
		}
		for _, control := range []header.Control{{DeadLetterID: "d"}, {DeadLetterID: "d", ForceVersion: true}} {
			replay := record(two)
			replay.Control = &control
			_, err := p.Handle(t.Context(), replay)
			expect.That(t, err != nil, "a replay before its time passes")
		}
		time.Sleep(4 * time.Hour)
		_, err = p.Handle(t.Context(), record(two))
		expect.That(t, err == nil, "once its time has come: %v", err)
	})
}
