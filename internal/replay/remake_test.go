package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// payment is a dead letter of Spring Kafka with a value in JSON.
func payment(i int, value string) *kgo.Record {
	r := ofSpring(i)
	r.Value = []byte(value)
	return r
}

func (w *world) rewritten(spec rewrite.Spec) (*Service, *plan.Plan) {
	w.t.Helper()
	s := w.aloneService(atStart)
	p := must.Get(s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "fix-1", By: "ana", Rewrite: spec}))(w.t)
	return s, p
}

// values are those that stand in the topic, sorted.
func (w *world) values(topic string) []string {
	var out []string
	for _, r := range w.read(topic) {
		out = append(out, string(r.Value))
	}
	slices.Sort(out)
	return out
}

// A rewrite is previewed by shape, carried out as it was foretold, kept in the audit trail by both hashes, and leaves the original. What it
// cannot rewrite stays pending.
func TestRewrite_S4_8_C4(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.die(payment(0, `{"id":0,"status":"open"}`), payment(1, `{"status":"open", "id":1}`), payment(2, `{"id":2,"status":"OPEN"}`), payment(3, `{"id":3}`), payment(4, "\x00bytes"))
	s, p := w.rewritten(rewrite.Spec{Exprs: []string{`value.status = upper(value.status)`}})
	shapes := map[string]int{}
	for _, o := range p.Outlook() {
		shapes[o.Shape] += o.Count
		if o.Shape == "/status" && o.Change != `/status: "open" -> "OPEN"` {
			t.Errorf("example %q", o.Change)
		}
	}
	if sum := p.Summary(); sum.Reinject != 3 || sum.Left != 2 || shapes["/status"] != 2 || shapes[unchanged] != 1 {
		t.Errorf("%+v, shapes %v", sum, shapes)
	}
	before := w.values(dlt)
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("enum renamed")})
	if err != nil || r.Reinjected != 3 || r.Left != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{`{"id":0,"status":"OPEN"}`, `{"id":2,"status":"OPEN"}`, `{"status":"OPEN","id":1}`}
	if got := w.values("payments"); !slices.Equal(got, want) {
		t.Errorf("put back %q", got)
	}
	if got := w.values(dlt); !slices.Equal(got, before) {
		t.Errorf("the DLQ has %q, before %q", got, before)
	}
	changed := 0
	for _, r := range w.read(dlt + ".replayer-audit") {
		var e struct {
			Decision string `json:"decision"`
			Before   string `json:"before"`
			After    string `json:"after"`
			Message  string `json:"message"`
		}
		must.Do(t, json.Unmarshal(r.Value, &e))
		if e.Decision == "replayed" && e.Before != e.After && strings.Contains(e.Message, "rewritten: /status") {
			changed++
		}
	}
	if changed != 2 {
		t.Errorf("%d audit events with both hashes", changed)
	}
	if again, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("again")}); err != nil || again.Reinjected != 0 || again.Already != 3 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// A program whose answer depends on something else than the record sends nothing that nobody has seen.
func TestRewrite_S4_8_onlyWhatWasForetold(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.die(payment(0, `{}`), payment(1, `{}`))
	seen := filepath.Join(t.TempDir(), "calls")
	program := fmt.Sprintf(`cat >/dev/null; echo x >>%s; n=$(wc -l <%s); [ "$n" -le 2 ] && echo '{"n":1}' || echo "{\"n\":$n}"`, seen, seen)
	s, p := w.rewritten(rewrite.Spec{Program: program})
	if _, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("x")}); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "has to be given again") {
		t.Errorf("a plan's program is run unasked: %v", err)
	}
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("x"), Program: program})
	if err != nil || r.Reinjected != 0 || r.Left != 2 || !strings.Contains(r.Skipped[0].Why, "another value") {
		t.Errorf("%+v, %v", r, err)
	}
	if got := w.values("payments"); len(got) != 0 {
		t.Errorf("put back %q", got)
	}
}

// What does not satisfy the schema stays; a pipeline's own letters are edited instead.
func TestRewrite_S4_8_isChecked(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.die(payment(0, `{"id":1}`), payment(1, `{"id":"x"}`), payment(2, ""))
	s, p := w.rewritten(rewrite.Spec{Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`)})
	r := w.execute(s, p)
	if got := w.values("payments"); r.Reinjected != 1 || r.Left != 2 || !slices.Equal(got, []string{`{"id":1}`}) {
		t.Errorf("%+v, %q", r, got)
	}
	own := newWorld(t)
	if _, err := own.service().Plan(own.ctx(), deadletters.Filter{}, PlanOptions{Rewrite: rewrite.Spec{Set: []string{"a=1"}}}); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "replayer edit") {
		t.Errorf("%v", err)
	}
}
