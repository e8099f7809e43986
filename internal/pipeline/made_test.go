package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// watched is a pipeline whose Made notes what it is told, or fails.
func watched(t *testing.T, rest string, fail error) (*pipeline.Pipeline, *[]string) {
	t.Helper()
	p := build(t, rest)
	encoder, err := transform.New(transform.Config{})
	if err != nil {
		t.Fatal(err)
	}
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

// S0-6: whoever keeps a table hears of each output what it says, in every format, and of nothing that has no output.
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
			if got := strings.Join(*told, "\n"); got != strings.Join(c.want, "\n") {
				t.Errorf("got  %s\nwant %s", got, strings.Join(c.want, "\n"))
			}
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
			if !errors.Is(err, broken) || len(result.Outputs) != 0 || result.ContentHash == "" || classify.Of(err).Stage != classify.StageSink {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
