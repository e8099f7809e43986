package filter_test

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
	"github.com/switchback-geo/switchback/internal/filter"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
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

func handler(t *testing.T, text string) retrytopics.Handler {
	t.Helper()
	cfg, err := config.Parse("pipeline.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p.Handle
}

func run(t *testing.T, o filter.Options, in string) (filter.Summary, string, string) {
	t.Helper()
	var out, rejects bytes.Buffer
	summary, err := filter.Run(t.Context(), o, strings.NewReader(in), &out, &rejects)
	if err != nil {
		t.Fatal(err)
	}
	return summary, out.String(), rejects.String()
}

func feature(name string) string {
	return `{"type":"Feature","id":"` + name + `","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"NAME":"` + name + `","updated":7}}`
}

func mapped(name string) string {
	return `{"type":"Feature","id":"` + name + `","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"name":"` + name + `","updated":7}}`
}

// TestRun: a line that is refused stops none of the others.
func TestRun(t *testing.T) {
	in := strings.Join([]string{
		feature("a"), "", "no json", "  \t", feature("b") + "\r", strings.Replace(feature("c"), `"NAME"`, `"NOM"`, 1), feature(strings.Repeat("x", 400)),
		strings.Replace(feature("d"), `"updated":7`, `"updated":7,"N":"seven"`, 1), feature("e"),
	}, "\n")
	summary, out, rejects := run(t, filter.Options{Handle: handler(t, file), MaxLine: 400}, in)
	if want := mapped("a") + "\n" + mapped("b") + "\n" + mapped("e") + "\n"; out != want {
		t.Errorf("features\n got %s\nwant %s", out, want)
	}
	if want := (filter.Summary{Read: 7, Passed: 3, Rejected: 4}); summary != want {
		t.Errorf("got %+v, want %+v", summary, want)
	}
	var got []string
	for text := range strings.Lines(rejects) {
		var r struct {
			Line                             int
			Code, Message, Path, Value, Rule *string
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&r); err != nil || r.Code == nil || r.Message == nil || r.Path == nil || r.Value == nil || r.Rule == nil {
			t.Fatalf("%s: %v", text, err)
		}
		got = append(got, fmt.Sprintf("%d %s %s %q %s", r.Line, *r.Code, *r.Path, *r.Value, *r.Rule))
		if strings.Contains(*r.Message, "(line 1,") || *r.Message == "" {
			t.Errorf("the message is %q", *r.Message)
		}
	}
	want := []string{
		`3 not_json  "o json" json_syntax`,
		`6 missing_required /properties/NAME "" fields[0]`,
		`7 record_too_large  "" max_bytes`,
		`8 coercion_failed /properties/N "\"seven\"" fields[1]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rejections\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// TestRun_meta: what the pipeline knows beside the feature, in one member.
func TestRun_meta(t *testing.T) {
	with := strings.Replace(feature("a"), `"type":"Feature"`, `"type":"Feature","switchback":{"old":1},"other":2`, 1)
	_, out, rejects := run(t, filter.Options{Handle: handler(t, file), MaxLine: 400, Meta: true}, feature("a")+"\n"+with+"\n")
	lines := strings.Split(out, "\n")
	if len(lines) != 3 || rejects != "" {
		t.Fatalf("%q, %q", out, rejects)
	}
	for i, text := range lines[:2] {
		var got struct {
			Switchback struct {
				FeatureID   string `json:"feature_id"`
				ContentHash string `json:"content_hash"`
				Version     *int64 `json:"version"`
			}
			Other *int
		}
		if _, err := transform.ParseValue([]byte(text)); err != nil { // no member twice
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		meta := got.Switchback
		if meta.FeatureID != "a" || !strings.HasPrefix(meta.ContentHash, "sha256:") || meta.Version == nil || *meta.Version != 7 || (i == 1) != (got.Other != nil) {
			t.Errorf("got %s", text)
		}
	}
	_, out, _ = run(t, filter.Options{Handle: handler(t, strings.Replace(file, "version: properties.updated", "", 1)), MaxLine: 400, Meta: true}, feature("a"))
	if !strings.Contains(out, `"version":null`) {
		t.Errorf("without source.version: %s", out)
	}
}

// TestRun_lines: what counts as a line, and how long one is.
func TestRun_lines(t *testing.T) {
	a := feature("a")
	echo := func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{Outputs: []*kgo.Record{{Value: r.Value}}}, nil
	}
	for _, c := range []struct {
		name, in string
		limit    int
		want     filter.Summary
	}{
		{"nothing", "", 10, filter.Summary{}},
		{"blank", "\n\r\n  \n", 10, filter.Summary{}},
		{"no_end", a, len(a), filter.Summary{Read: 1, Passed: 1}},
		{"as_long_as_the_limit", a + "\r\n" + a + "\n", len(a), filter.Summary{Read: 2, Passed: 2}},
		{"one_byte_longer", a + "\n" + a, len(a) - 1, filter.Summary{Read: 2, Rejected: 2}},
		{"white_space_counts_too", "  " + a + "  \n", len(a), filter.Summary{Read: 1, Rejected: 1}},
		{"longer_than_every_buffer", strings.Repeat("x", 1<<20) + "\n" + a + "\n", len(a), filter.Summary{Read: 2, Passed: 1, Rejected: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, out, _ := run(t, filter.Options{Handle: echo, MaxLine: c.limit}, c.in)
			if got != c.want || strings.Count(out, "\n") != c.want.Passed {
				t.Errorf("got %+v, %d lines", got, strings.Count(out, "\n"))
			}
		})
	}
}

// TestRun_outcomes: panics and errors of any kind reject one line; a delete and
// what the mapping's filter leaves out are neither.
func TestRun_outcomes(t *testing.T) {
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
		case "held":
			return retrytopics.Result{}, &retrytopics.UnavailableError{Dependency: "place"}
		case "parts":
			bad := func(i int) retrytopics.FailedPart {
				return retrytopics.FailedPart{Part: retrytopics.Part{Index: i, Of: 3}, Err: &transform.Error{Code: classify.CodeCoercionFailed, Path: fmt.Sprintf("/features/%d", i)}}
			}
			return retrytopics.Result{Outputs: []*kgo.Record{{Value: []byte("{}")}}, Failed: []retrytopics.FailedPart{bad(0), bad(2)}}, nil
		case "delete":
			return retrytopics.Result{Outputs: []*kgo.Record{{}}}, nil
		}
		return retrytopics.Result{}, nil
	}
	got, out, rejects := run(t, filter.Options{Handle: handle, MaxLine: 10}, "panic\nerror\nleft\ndelete\nnothing\nrule\nheld\nparts\n")
	if want := (filter.Summary{Read: 8, Rejected: 5, Left: 3}); got != want || out != "{}\n" {
		t.Errorf("got %+v, %q", got, out)
	}
	if strings.Count(rejects, `"line":8,`) != 2 || !strings.Contains(rejects, `"path":"/features/0"`) || !strings.Contains(rejects, `"path":"/features/2"`) {
		t.Errorf("of the features of a collection it says %s", rejects)
	}
	if want := `"message":"no number (column 5) (rule in line 9 of the pipeline file); fix it","path":"","value":"","rule":"fields[1]"`; !strings.Contains(rejects, want) {
		t.Errorf("got %s, want %s", rejects, want)
	}
	if !strings.Contains(rejects, `"line":1,"code":"panic","message":"panic: boom"`) || !strings.Contains(rejects, `"line":2,"code":"timeout"`) || !strings.Contains(rejects, `"line":7,"code":"held","message":"place is held back`) || strings.Contains(rejects, "goroutine") {
		t.Errorf("got %s", rejects)
	}
}

// pipe gives one line, and then nothing until it is closed.
type pipe struct {
	io.Reader
	closed chan struct{}
}

func (p pipe) Read(into []byte) (int, error) {
	n, err := p.Reader.Read(into)
	if errors.Is(err, io.EOF) {
		<-p.closed
	}
	return n, err
}

// told says when something was written.
type told struct{ written chan string }

func (w told) Write(text []byte) (int, error) {
	w.written <- string(text)
	return len(text), nil
}

// TestRun_in_a_pipe: what is done is handed on while the input stays open, and
// being told to stop is heard while nothing comes.
func TestRun_in_a_pipe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := pipe{strings.NewReader(feature("a") + "\n"), make(chan struct{})}, told{make(chan string, 1)}
	done, options := make(chan error), filter.Options{Handle: handler(t, file), MaxLine: 400}
	go func() {
		_, err := filter.Run(ctx, options, in, out, io.Discard)
		done <- err
	}()
	if got := <-out.written; got != mapped("a")+"\n" {
		t.Errorf("got %q", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(in.closed)
}

// broken is a file that cannot be read or written.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestRun_broken_files(t *testing.T) {
	o := filter.Options{Handle: handler(t, file), MaxLine: 400}
	if _, err := filter.Run(t.Context(), o, broken{}, io.Discard, io.Discard); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("reading: %v", err)
	}
	if _, err := filter.Run(t.Context(), o, strings.NewReader(feature("a")), broken{}, io.Discard); !errors.Is(err, errBroken) {
		t.Errorf("writing: %v", err)
	}
	if _, err := filter.Run(t.Context(), o, strings.NewReader("x"), io.Discard, broken{}); !errors.Is(err, errBroken) {
		t.Errorf("rejecting: %v", err)
	}
}
