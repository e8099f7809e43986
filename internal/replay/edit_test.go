package replay

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

func set(t *testing.T, assignments ...string) *rewrite.Rewrite {
	t.Helper()
	return must.Get(rewrite.New(rewrite.Spec{Set: assignments}))(t)
}

// mendRing is an edit that uncrosses the ring of bowTie.
const mendRing = `geometry.coordinates=[[[0,0],[2,0],[2,2],[0,2],[0.0,0.00]]]`

func (w *world) edit(f deadletters.Filter, o EditOptions) ChangeResult {
	w.t.Helper()
	o.Call = ana("ring uncrossed")
	return must.Get(w.service().Edit(w.ctx(), f, o))(w.t)
}

func TestEdit_S4_8_the_original_stays_and_the_edit_goes_back(t *testing.T) {
	w := parallel(t)
	original := letter(2, "a", fmt.Sprintf(bowTie, "a"))
	w.die(original)
	s := w.service()
	o := EditOptions{Rewrite: set(t, mendRing)}

	var preview []Edited
	err := s.PreviewEdit(w.ctx(), deadletters.Filter{}, o, func(e Edited) error { preview = append(preview, e); return nil })
	must.That(t, err == nil && len(preview) == 1 && preview[0].Today.Passes && preview[0].After != preview[0].Before && len(preview[0].Changes) != 0, "%+v, %v", preview, err)
	must.That(t, len(w.read("features.dlq")) == 1 && len(w.trail()) == 0, "the preview changed something")

	r := w.edit(deadletters.Filter{}, o)
	must.That(t, r.Changed == 1 && r.Left == 0, "%+v", r)
	records := w.read("features.dlq")
	must.That(t, len(records) == 2 && string(records[0].Value) == string(original.Value), "%d records in the DLQ", len(records))
	edited := records[1]
	expect.That(t, edited.Partition == 2 && string(edited.Key) == "key of a" && edited.Timestamp.Equal(original.Timestamp) && strings.Contains(string(edited.Value), "[0.0,0.00]"),
		"%s", topiclog.Describe(edited))
	for header, want := range map[string]string{
		deadletters.HeaderEditOf: "features.dlq/2/0", "switchback-dead-letter-id": "a", "traceparent": "00-1",
		"switchback-content-hash": preview[0].After, "switchback-source": "features/2/40", "switchback-error-code": "geometry_invalid",
	} {
		got, n := topiclog.Header(edited, header)
		expect.That(t, got == want && n == 1, "header %s is %q (%d times), want %q", header, got, n, want)
	}
	state := w.states()["a"]
	expect.That(t, state.Status == deadletters.Pending && state.ContentHash == preview[0].After && state.Reason == "ring uncrossed" && state.By == "ana", "state %+v", state)
	events := w.events()
	expect.That(t, len(events) == 1 && events[0].Decision == audit.Edited && events[0].Before == preview[0].Before && events[0].After == preview[0].After && !strings.Contains(events[0].Message, "0.00") && strings.Contains(events[0].Message, "/geometry/coordinates"),
		"audit %+v", events)

	p := w.plan(s, deadletters.Filter{})
	expect.That(t, p.Summary().WouldPass == 1 && p.Letters == 1, "plan %+v", p.Summary())
	expect.Equal(t, w.execute(s, p).Reinjected, 1, "reinjected")
	back := w.read("features")
	must.That(t, len(back) == 1 && string(back[0].Value) == string(edited.Value), "%d records went back", len(back))
	_, n := topiclog.Header(back[0], deadletters.HeaderEditOf)
	expect.That(t, n == 0, "the mark of the edit went back to the pipeline")
}

func TestEdit_a_second_edit_must_start_from_the_latest(t *testing.T) {
	w := parallel(t)
	w.die(letter(0, "a", fmt.Sprintf(bowTie, "a")), letter(1, "b", fmt.Sprintf(bowTie, "b")))
	only := deadletters.Filter{IDs: []string{"a"}}
	w.edit(only, EditOptions{Rewrite: set(t, mendRing)})
	first := w.states()["a"].ContentHash

	r := w.edit(only, EditOptions{Rewrite: set(t, "properties.name=x")})
	expect.That(t, r.Changed == 0 && strings.Contains(r.Skipped[0].Why, "--from "+first), "without --from: %+v", r)
	r = w.edit(only, EditOptions{Rewrite: set(t, "properties.name=x"), From: "sha256:00"})
	expect.That(t, r.Changed == 0 && strings.Contains(r.Skipped[0].Why, first), "from something else: %+v", r)
	expect.Equal(t, w.edit(only, EditOptions{Rewrite: set(t, "properties.name=x"), From: first}).Changed, 1, "from the latest changed")
	r = w.edit(deadletters.Filter{}, EditOptions{Rewrite: set(t, "properties.name=y")})
	expect.That(t, r.Changed == 1 && r.Left == 1, "a group of which one was edited: %+v", r)
	expect.Equal(t, w.edit(deadletters.Filter{}, EditOptions{Rewrite: set(t, "properties.name=z"), From: FromLatest}).Changed, 2, "from whatever is latest changed")
	last := w.read("features.dlq")
	expect.Equal(t, len(last), 7, "records in the DLQ")
}

func TestEdit_leaves_what_it_cannot_edit(t *testing.T) {
	w := parallel(t)
	tomb := letter(0, "tomb", "")
	tomb.Value = nil
	w.die(letter(0, "text", "no JSON"), tomb, letter(1, "good", fmt.Sprintf(square, "good")), letter(1, "gone", fmt.Sprintf(square, "gone")),
		&kgo.Record{Topic: "features.dlq", Value: []byte(`{"properties":{"name":"a"}}`)})
	w.die(deadletters.State{ID: "gone", Status: deadletters.Discarded, At: start, By: "bo"}.Record("features.dlq-status", 1))
	why := map[string]string{}
	must.Do(t, w.service().PreviewEdit(w.ctx(), deadletters.Filter{IDs: []string{"text", "tomb", "good", "gone", "dlq-0-2"}},
		EditOptions{Rewrite: set(t, "properties.name=a")}, func(e Edited) error { why[e.ID] = e.Why; return nil }))
	for id, want := range map[string]string{"text": "not JSON", "tomb": "a delete has no value", "good": "changes nothing", "gone": "it is discarded", "dlq-0-2": "no dead letter id"} {
		expect.That(t, strings.Contains(why[id], want), "%s: %q, want %q", id, why[id], want)
	}
	_, err := w.service().Edit(w.ctx(), deadletters.Filter{}, EditOptions{Rewrite: set(t, "a=1")})
	expect.That(t, errors.Is(err, operation.ErrNoReason), "without a reason: %v", err)
}

// An Avro letter is edited as what it says, and written again with the schema that it came with.
func TestEdit_S4_8_avro_is_written_with_its_own_schema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"record","name":"Row","fields":[{"name":"id","type":"long"},{"name":"area","type":["null","string","double"]},{"name":"geometry","type":"string"}]}`
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"schema":%q}`, schema)
	}))
	t.Cleanup(registry.Close)
	w := newWorld(t)
	w.cfg = configure(t, w.broker.ListenAddrs(), "source: { format: avro, row: { id: id, geometry: geometry } }", fmt.Sprintf("schema_registry: { url: %q }", registry.URL))
	s := must.Get(avro.Parse(schema))(t)
	value := must.Get(s.AppendText(binary.BigEndian.AppendUint32([]byte{0}, 7),
		[]byte(`{"id":9007199254740993,"area":{"string":"N/A"},"geometry":"{\"type\":\"Point\",\"coordinates\":[1,2]}"}`)))(t)
	w.die(letter(0, "row", string(value)))
	e := must.Get(rewrite.New(rewrite.Spec{Merge: []byte(`{"area":{"string":null,"double":0.5}}`)}))(t)
	expect.Equal(t, w.edit(deadletters.Filter{}, EditOptions{Rewrite: e}).Changed, 1, "edited")
	edited := w.read("features.dlq")[1].Value
	text, err := s.Text(edited[5:])
	must.That(t, err == nil && string(edited[:5]) == string(value[:5]), "%x, %v", edited, err)
	expect.That(t, strings.Contains(string(text), `"area":{"double":0.5}`) && strings.Contains(string(text), `9007199254740993`), "edited to %s", text)
	must.Get(w.service().mapping.Open(t.Context(), nil, edited))(t)
}

// payment is a dead letter of Spring Kafka with a value in JSON.
func payment(i int, value string) *kgo.Record {
	r := ofSpring(i)
	r.Value = []byte(value)
	return r
}

func (w *world) rewritten(spec rewrite.Spec) (*Service, *plan.Plan) {
	w.t.Helper()
	s := w.service()
	p := w.planWith(s, deadletters.Filter{}, PlanOptions{ID: "fix-1", By: "ana", Rewrite: spec})
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
		expect.That(t, o.Shape != "/status" || o.Change == `/status: "open" -> "OPEN"`, "example %q", o.Change)
	}
	sum := p.Summary()
	expect.That(t, sum.Reinject == 3 && sum.Left == 2 && shapes["/status"] == 2 && shapes[dryrun.Unchanged] == 1, "%+v, shapes %v", sum, shapes)
	before := w.values(dlt)
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("enum renamed")})
	must.That(t, err == nil && r.Reinjected == 3 && r.Left == 2, "%+v, %v", r, err)
	want := []string{`{"id":0,"status":"OPEN"}`, `{"id":2,"status":"OPEN"}`, `{"status":"OPEN","id":1}`}
	got := w.values("payments")
	expect.That(t, slices.Equal(got, want), "put back %q", got)
	got = w.values(dlt)
	expect.That(t, slices.Equal(got, before), "the DLQ has %q, before %q", got, before)
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
	expect.That(t, changed == 2, "%d audit events with both hashes", changed)
	again, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("again")})
	expect.That(t, err == nil && again.Reinjected == 0 && again.Already == 3, "again: %+v, %v", again, err)
}

// A program whose answer depends on something else than the record sends nothing that nobody has seen.
func TestRewrite_S4_8_onlyWhatWasForetold(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.die(payment(0, `{}`), payment(1, `{}`))
	seen := filepath.Join(t.TempDir(), "calls")
	program := fmt.Sprintf(`cat >/dev/null; echo x >>%s; n=$(wc -l <%s); [ "$n" -le 2 ] && echo '{"n":1}' || echo "{\"n\":$n}"`, seen, seen)
	s, p := w.rewritten(rewrite.Spec{Program: program})
	_, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("x")})
	expect.That(t, errors.Is(err, operation.ErrOptions) && strings.Contains(err.Error(), "giving it again"), "a plan's program is run unasked: %v", err)
	r, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("x"), Program: program})
	expect.That(t, err == nil && r.Reinjected == 0 && r.Left == 2 && strings.Contains(r.Skipped[0].Why, "another value"), "%+v, %v", r, err)
	expect.Equal(t, len(w.values("payments")), 0, "put back")
}

// What does not satisfy the schema stays; a pipeline's own letters are edited instead.
func TestRewrite_S4_8_isChecked(t *testing.T) {
	t.Parallel()
	w := anyDLQ(t)
	w.die(payment(0, `{"id":1}`), payment(1, `{"id":"x"}`), payment(2, ""))
	s, p := w.rewritten(rewrite.Spec{Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}}}`)})
	r := w.execute(s, p)
	got := w.values("payments")
	expect.That(t, r.Reinjected == 1 && r.Left == 2 && slices.Equal(got, []string{`{"id":1}`}), "%+v, %q", r, got)
	own := newWorld(t)
	_, err := own.service().Plan(own.ctx(), deadletters.Filter{}, PlanOptions{Rewrite: rewrite.Spec{Set: []string{"a=1"}}})
	expect.That(t, errors.Is(err, operation.ErrOptions) && strings.Contains(err.Error(), "replayer edit"), "%v", err)
}
