package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// watched is a pipeline whose Made notes what it is told, or fails.
func watched(t *testing.T, rest string, fail error) (*pipeline.Pipeline, *[]string) {
	t.Helper()
	p := build(t, rest)
	encoder, err := transform.New(transform.Config{})
	must.Do(t, err)
	var told []string
	p.Observe(pipeline.Hooks{
		Mapped: func(*retrytopics.Record, *transform.Feature, bool) error { return nil },
		Made: func(_ context.Context, m pipeline.Made) error {
			version := "-"
			if m.Version != nil {
				version = fmt.Sprint(*m.Version)
			}
			for _, part := range m.Parts {
				var said []byte
				if part.Feature != nil {
					if said, err = encoder.Encode(part.Feature); err != nil || part.Bytes == 0 {
						t.Errorf("%d bytes: %v", part.Bytes, err)
					}
				}
				told = append(told, fmt.Sprintf("%s v%s delete=%v %s %.7s", part.Key, version, m.Delete, said, part.ContentHash))
			}
			return fail
		},
	})
	return p, &told
}

// S0-6: the sink gets the content of each output, in every format, and nothing where there is no output.
func TestHandle_S0_6_tellsWhatARecordBecomes(t *testing.T) {
	const mapping = "transform: { unmapped: drop, fields: [{ from: NAME, to: name }], filter: 'properties.NAME != \"hidden\"' }\n"
	const said = `{"type":"Feature","id":"p-1","geometry":{"type":"Point","coordinates":[8.5,47.3]},"properties":{"name":"a"}}`
	one := fmt.Sprintf(feature, "7")
	for name, c := range map[string]struct {
		rest, value string
		want        []string
	}{
		"geojson":    {"source: { version: properties.updated }\n" + mapping, one, []string{"k v7 delete=false " + said + " sha256:"}},
		"avro":       {singleObjectOutput + mapping, one, []string{"k v- delete=false " + said + " sha256:"}},
		"delete":     {mapping, "", []string{"k v- delete=true  sha256:"}},
		"left_out":   {mapping, strings.Replace(one, `"a"`, `"hidden"`, 1), nil},
		"bad":        {mapping, "{", nil},
		"collection": {"source: { split: features }\n" + mapping, collection(part(`"a"`, "x"), part(`"b"`, "hidden")), []string{`a v- delete=false {"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"x"}} sha256:`}},
		"none_of_it": {"source: { split: features }\n" + mapping, collection(part(`"b"`, "hidden")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, told := watched(t, c.rest, nil)
			r := record(c.value)
			if c.value == "" {
				r.Value = nil
			}
			_, _ = p.Handle(t.Context(), r)
			expect.Equal(t, strings.Join(*told, "\n"), strings.Join(c.want, "\n"))
		})
	}
}

// What cannot be written is a failed attempt with the record's identity, and has no output.
func TestHandle_whatCannotBeWrittenIsAFailedAttempt(t *testing.T) {
	broken := classify.WithStage(classify.StageSink, errors.New("no table"))
	for name, c := range map[string]struct{ rest, value string }{
		"feature":    {"", fmt.Sprintf(feature, "7")},
		"delete":     {"", ""},
		"collection": {"source: { split: features }\n", collection(part(`"a"`, "x"))},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := watched(t, c.rest, broken)
			r := record(c.value)
			if c.value == "" {
				r.Value = nil
			}
			result, err := p.Handle(t.Context(), r)
			expect.That(t, errors.Is(err, broken) && len(result.Outputs) == 0 && result.ContentHash != "" && classify.Of(err).Stage == classify.StageSink, "%+v, %v", result, err)
		})
	}
}

// Features of many sizes are hashed at once, in buffers that are used again: each hash is that of its own content.
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

// Two events of a key with two outputs are never one content: the second would be closed as a duplicate, and lost.
func TestHandle_S0_6_twoOutputsAreTwoContents(t *testing.T) {
	const point = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[500000,5000000]},"properties":{"a":1}%s}`
	const located = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"a":1}%s}`
	crs := func(name string) string {
		return `,"crs":{"type":"name","properties":{"name":"` + name + `"}}`
	}
	for name, c := range map[string]struct{ rest, base, one, two string }{
		"foreign_member": {"", located, `,"status":"open"`, `,"status":"closed"`},
		"bbox":           {"", located, `,"bbox":[7,46,9,48]`, `,"bbox":[8,47,8,47]`},
		"json_fg_time":   {"source: { format: jsonfg }\n", located, `,"time":{"date":"2026-01-01"}`, `,"time":{"date":"2026-01-02"}`},
		"crs":            {"transform: { geometry: { declared_crs: use } }\n", point, crs("EPSG:25832"), crs("EPSG:25833")},
		"in_a_collection": {
			"source: { split: features }\n", `{"type":"FeatureCollection","features":[` + located + `]}`, `,"status":"open"`, `,"status":"closed"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, c.rest)
			var outputs, hashes [2]string
			for i, more := range [...]string{c.one, c.two} {
				r := record(fmt.Sprintf(c.base, more))
				result := must.Get(p.Handle(t.Context(), r))(t)
				outputs[i], hashes[i] = string(result.Outputs[0].Value), result.ContentHash
				known := p.Identify(t.Context(), r.Key, []kgo.RecordHeader(nil), r.Value)
				expect.That(t, known.ContentHash == hashes[i], "the consumer computes %s, the identity of the record has %s", hashes[i], known.ContentHash)
			}
			expect.That(t, outputs[0] != outputs[1] && hashes[0] != hashes[1], "%s and %s have the hashes %s and %s", outputs[0], outputs[1], hashes[0], hashes[1])
		})
	}
}
