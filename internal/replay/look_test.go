package replay

import (
	"fmt"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/envelope"
)

func TestPlan_says_what_todays_transform_makes_of_each_letter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := letter(0, "good", fmt.Sprintf(square, "good"))
	w.die(good, letter(1, "bad", fmt.Sprintf(bowTie, "bad")), again(good, "copy", 39), letter(2, "done", fmt.Sprintf(square, "done")))
	w.die(deadletters.State{ID: "done", Status: deadletters.Reprocessed, At: start, By: "c"}.Record("features.dlq-status", 2))
	p := w.plan(w.service(), deadletters.Filter{})
	got := p.Summary()
	want := plan.Summary{Selected: 3, Reinject: 2, Duplicates: 1, WouldPass: 1, WouldFail: 1, Bytes: got.Bytes}
	if got != want || got.Bytes != int64(len(fmt.Sprintf(square, "good"))+len(fmt.Sprintf(bowTie, "bad"))) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, l := range w.letters(p) {
		if l.ID == "copy" && (l.Do != plan.Duplicate || l.DuplicateOf != "good") {
			t.Errorf("copy: %+v", l)
		}
	}
	if sent := w.sent(); len(sent) != 0 || len(w.states()) != 1 || len(w.events()) != 0 {
		t.Errorf("a dry run wrote something: %v", sent)
	}
}

// The dry run opens letters as the consumer does: by the pipeline's format, and by the headers that the producer sent.
func TestPlan_C4_opens_letters_in_the_format_of_the_pipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Source.Format = envelope.Auto
	feature := fmt.Sprintf(square, "a")
	structured := letter(0, "event", `{"specversion":"1.0","id":"e","source":"/s","type":"t","data":`+feature+`}`)
	structured.Headers = append(structured.Headers, kgo.RecordHeader{Key: "content-type", Value: []byte("application/cloudevents+json")})
	mislabelled := letter(1, "mislabelled", fmt.Sprintf(square, "b"))
	mislabelled.Headers = append(mislabelled.Headers, kgo.RecordHeader{Key: "content-type", Value: []byte("application/avro")})
	w.die(structured, mislabelled, letter(2, "plain", fmt.Sprintf(square, "c")))
	s := w.service()
	got := map[string]string{}
	for _, l := range w.letters(w.plan(s, deadletters.Filter{})) {
		got[l.ID] = string(l.Today.Code)
	}
	if want := map[string]string{"event": "", "mislabelled": "avro_decode", "plain": ""}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	d := s.Judge(w.ctx(), deadletters.Decode(structured, true))
	if d.Decode != nil || string(d.Feature) != feature || !d.Verdict.Passes {
		t.Errorf("got %s, %+v", d.Feature, d)
	}
}

func TestPlan_follows_the_filter_and_its_limit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(7)
	s := w.service()
	if p := w.plan(s, deadletters.Filter{Limit: 2}); p.Letters != 2 {
		t.Errorf("limit 2: %d dead letters", p.Letters)
	}
	if p := w.plan(s, deadletters.Filter{Codes: []string{"timeout"}}); p.Letters != 0 {
		t.Errorf("other code: %d dead letters", p.Letters)
	}
	if _, err := s.Plan(w.ctx(), deadletters.Filter{Statuses: []deadletters.Status{"gone"}}, PlanOptions{}); err == nil {
		t.Error("an unknown status is accepted")
	}
}
