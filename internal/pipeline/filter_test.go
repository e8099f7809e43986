package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"

	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

const file = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
source: { version: properties.updated }
transform:
  unmapped: keep
  fields:
    - { from: NAME, to: name, type: string, required: true }
    - { from: N, to: n, type: integer }
`

func filterHandler(t *testing.T, text string) retrytopics.Handler {
	t.Helper()
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(text), nil))(t)
	p := must.Get(pipeline.New(cfg, nil))(t)
	t.Cleanup(p.Close)
	return p.Handle
}

func runFilter(t *testing.T, o pipeline.FilterOptions, in string) (pipeline.FilterSummary, string, string) {
	t.Helper()
	var out, rejects bytes.Buffer
	summary := must.Get(pipeline.Filter(t.Context(), o, strings.NewReader(in), &out, &rejects))(t)
	return summary, out.String(), rejects.String()
}

func lineFeature(name string) string {
	return `{"type":"Feature","id":"` + name + `","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"NAME":"` + name + `","updated":7}}`
}

func lineMapped(name string) string {
	return `{"type":"Feature","id":"` + name + `","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"` + name + `","updated":7}}`
}

// A refused line does not stop the other lines.
func TestFilter(t *testing.T) {
	in := strings.Join([]string{
		lineFeature("a"), "", "no json", "  \t", lineFeature("b") + "\r", strings.Replace(lineFeature("c"), `"NAME"`, `"NOM"`, 1), lineFeature(strings.Repeat("x", 400)),
		strings.Replace(lineFeature("d"), `"updated":7`, `"updated":7,"N":"seven"`, 1), lineFeature("e"),
	}, "\n")
	summary, out, rejects := runFilter(t, pipeline.FilterOptions{Handle: filterHandler(t, file), MaxLine: 400}, in)
	expect.Equal(t, lineMapped("a")+"\n"+lineMapped("b")+"\n"+lineMapped("e")+"\n", out, "features")
	expect.Equal(t, (pipeline.FilterSummary{Read: 7, Passed: 3, Rejected: 4}), summary)
	var got []string
	for text := range strings.Lines(rejects) {
		var r struct {
			Line                             int
			Code, Message, Path, Value, Rule *string
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&r)
		must.That(t, err == nil && r.Code != nil && r.Message != nil && r.Path != nil && r.Value != nil && r.Rule != nil, "%s: %v", text, err)
		got = append(got, fmt.Sprintf("%d %s %s %q %s", r.Line, *r.Code, *r.Path, *r.Value, *r.Rule))
		expect.That(t, !strings.Contains(*r.Message, "(line 1,") && *r.Message != "", "the message is %q", *r.Message)
	}
	want := []string{
		`3 not_json  "o json" json_syntax`,
		`6 missing_required /properties/NAME "" fields[0]`,
		`7 record_too_large  "" max_bytes`,
		`8 coercion_failed /properties/N "\"seven\"" fields[1]`,
	}
	expect.That(t, strings.Join(got, "\n") == strings.Join(want, "\n"), "rejections\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
}

// With meta, the pipeline's knowledge about the feature is in one member.
func TestFilter_meta(t *testing.T) {
	with := strings.Replace(lineFeature("a"), `"type":"Feature"`, `"type":"Feature","switchback":{"old":1},"other":2`, 1)
	_, out, rejects := runFilter(t, pipeline.FilterOptions{Handle: filterHandler(t, file), MaxLine: 400, Meta: true}, lineFeature("a")+"\n"+with+"\n")
	lines := strings.Split(out, "\n")
	must.That(t, len(lines) == 3 && rejects == "", "%q, %q", out, rejects)
	for i, text := range lines[:2] {
		var got struct {
			Switchback struct {
				FeatureID   string `json:"feature_id"`
				ContentHash string `json:"content_hash"`
				Version     *int64 `json:"version"`
			}
			Other *int
		}
		if _, err := transform.ParseValue([]byte(text)); err != nil { // no duplicate members
			t.Fatal(err)
		}
		must.Do(t, json.Unmarshal([]byte(text), &got))
		meta := got.Switchback
		expect.That(t, meta.FeatureID == "a" && strings.HasPrefix(meta.ContentHash, "sha256:") && meta.Version != nil && *meta.Version == 7 && (i == 1) == (got.Other != nil), "got %s", text)
	}
	_, out, _ = runFilter(t, pipeline.FilterOptions{Handle: filterHandler(t, strings.Replace(file, "version: properties.updated", "", 1)), MaxLine: 400, Meta: true}, lineFeature("a"))
	expect.That(t, strings.Contains(out, `"version":null`), "without source.version: %s", out)
}

// The definition of a line, and its maximum length.
func TestFilter_lines(t *testing.T) {
	a := lineFeature("a")
	echo := func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{Outputs: []*kgo.Record{{Value: r.Value}}}, nil
	}
	for _, c := range []struct {
		name, in string
		limit    int
		want     pipeline.FilterSummary
	}{
		{"nothing", "", 10, pipeline.FilterSummary{}},
		{"blank", "\n\r\n  \n", 10, pipeline.FilterSummary{}},
		{"no_end", a, len(a), pipeline.FilterSummary{Read: 1, Passed: 1}},
		{"as_long_as_the_limit", a + "\r\n" + a + "\n", len(a), pipeline.FilterSummary{Read: 2, Passed: 2}},
		{"one_byte_longer", a + "\n" + a, len(a) - 1, pipeline.FilterSummary{Read: 2, Rejected: 2}},
		{"white_space_counts_too", "  " + a + "  \n", len(a), pipeline.FilterSummary{Read: 1, Rejected: 1}},
		{"longer_than_every_buffer", strings.Repeat("x", 1<<20) + "\n" + a + "\n", len(a), pipeline.FilterSummary{Read: 2, Passed: 1, Rejected: 1}},
	} {
		got, out, _ := runFilter(t, pipeline.FilterOptions{Handle: echo, MaxLine: c.limit}, c.in)
		expect.That(t, got == c.want && strings.Count(out, "\n") == c.want.Passed, "%v: got %+v, %d lines", c.name, got, strings.Count(out, "\n"))
	}
}

// Panics and errors of any kind reject one line. Deletes and filtered features reject none.
func TestFilter_outcomes(t *testing.T) {
	handle := func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		switch string(r.Value) {
		case "panic":
			panic("boom")
		case "error":
			return retrytopics.Result{}, fmt.Errorf("remote: %w", context.DeadlineExceeded)
		case "rule":
			return retrytopics.Result{}, &transform.Error{Code: classify.CodeCoercionFailed, Message: "no number", Fix: "fix it", Rule: "fields[1]", RuleLine: 9, Column: 5}
		case "left":
			return retrytopics.Result{}, &transform.FilteredError{Feature: "a", Expression: "false"}
		case "deferred":
			return retrytopics.Result{}, &retrytopics.UnavailableError{Dependency: "place"}
		case "parts":
			bad := func(i int) retrytopics.FailedPart {
				return retrytopics.FailedPart{Part: header.Part{Index: i, Of: 3}, Err: &transform.Error{Code: classify.CodeCoercionFailed, Path: fmt.Sprintf("/features/%d", i)}}
			}
			return retrytopics.Result{Outputs: []*kgo.Record{{Value: []byte("{}")}}, Failed: []retrytopics.FailedPart{bad(0), bad(2)}}, nil
		case "delete":
			return retrytopics.Result{Outputs: []*kgo.Record{{}}}, nil
		}
		return retrytopics.Result{}, nil
	}
	got, out, rejects := runFilter(t, pipeline.FilterOptions{Handle: handle, MaxLine: 10}, "panic\nerror\nleft\ndelete\nnothing\nrule\ndeferred\nparts\n")
	expect.That(t, got == (pipeline.FilterSummary{Read: 8, Rejected: 5, Left: 3}) && out == "{}\n", "got %+v, %q", got, out)
	expect.That(t, strings.Count(rejects, `"line":8,`) == 2 && strings.Contains(rejects, `"path":"/features/0"`) && strings.Contains(rejects, `"path":"/features/2"`), "rejection of a collection: %s", rejects)
	want := `"message":"no number (column 5) (rule in line 9 of the pipeline file); fix it","path":"","value":"","rule":"fields[1]"`
	expect.That(t, strings.Contains(rejects, want), "got %s, want %s", rejects, want)
	expect.That(t, strings.Contains(rejects, `"line":1,"code":"panic","message":"panic: boom"`) && strings.Contains(rejects, `"line":2,"code":"timeout"`) && strings.Contains(rejects, `"line":7,"code":"deferred","message":"place is unavailable`) && !strings.Contains(rejects, "goroutine"),
		"got %s", rejects)
}

// linePipe returns one line, and then blocks until it is closed.
type linePipe struct {
	io.Reader
	closed chan struct{}
}

func (p linePipe) Read(into []byte) (int, error) {
	n, err := p.Reader.Read(into)
	if errors.Is(err, io.EOF) {
		<-p.closed
	}
	return n, err
}

// notifyWriter sends what was written to a channel.
type notifyWriter struct{ written chan string }

func (w notifyWriter) Write(text []byte) (int, error) {
	w.written <- string(text)
	return len(text), nil
}

// Output is written while the input stays open, and a signal to stop is obeyed while no input arrives.
func TestFilter_in_a_pipe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := linePipe{strings.NewReader(lineFeature("a") + "\n"), make(chan struct{})}, notifyWriter{make(chan string, 1)}
	done, options := make(chan error), pipeline.FilterOptions{Handle: filterHandler(t, file), MaxLine: 400}
	go func() {
		_, err := pipeline.Filter(ctx, options, in, out, io.Discard)
		done <- err
	}()
	got := <-out.written
	expect.That(t, got == lineMapped("a")+"\n", "got %q", got)
	cancel()
	err := <-done
	expect.That(t, errors.Is(err, context.Canceled), "got %v", err)
	close(in.closed)
}

// brokenFile is a file that cannot be read or written.
type brokenFile struct{}

var errBroken = errors.New("broken")

func (brokenFile) Read([]byte) (int, error)  { return 0, errBroken }
func (brokenFile) Write([]byte) (int, error) { return 0, errBroken }

func TestFilter_broken_files(t *testing.T) {
	o := pipeline.FilterOptions{Handle: filterHandler(t, file), MaxLine: 400}
	_, err := pipeline.Filter(t.Context(), o, brokenFile{}, io.Discard, io.Discard)
	expect.That(t, errors.Is(err, errBroken) && strings.Contains(err.Error(), "line 1"), "reading: %v", err)
	_, err = pipeline.Filter(t.Context(), o, strings.NewReader(lineFeature("a")), brokenFile{}, io.Discard)
	expect.That(t, errors.Is(err, errBroken), "writing: %v", err)
	_, err = pipeline.Filter(t.Context(), o, strings.NewReader("x"), io.Discard, brokenFile{})
	expect.That(t, errors.Is(err, errBroken), "rejecting: %v", err)
}
