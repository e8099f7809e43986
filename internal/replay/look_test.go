package replay

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
)

func TestLetters_are_listed_with_their_status(t *testing.T) {
	w := newWorld(t)
	w.die(letter(0, "a", fmt.Sprintf(square, "a")), letter(1, "b", fmt.Sprintf(square, "b")),
		&kgo.Record{Topic: "features.dlq", Partition: 2, Value: []byte("foreign"), Timestamp: start})
	w.die(deadletters.State{ID: "b", Status: deadletters.Discarded, At: start}.Record("features.dlq-status", 1))
	letters, err := w.service().Letters(w.ctx(), deadletters.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range letters {
		got = append(got, fmt.Sprintf("%s %s %s", l.ID, l.Status, l.Dialect))
	}
	want := "a pending switchback, b discarded switchback, dlq-2-0 pending unknown"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestGroups_limit_bounds_groups_not_letters(t *testing.T) {
	w := newWorld(t)
	other := control(0, "z", "z")
	other.ErrorCode = "timeout"
	w.die(letter(0, "a", "1"), letter(1, "b", "2"),
		&kgo.Record{Topic: "features.dlq", Value: []byte("z"), Headers: other.AppendTo(nil)})
	groups, err := w.service().Groups(w.ctx(), deadletters.Filter{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 1 || groups[0].Count != 2 || groups[0].Code != "geometry_invalid" || groups[0].Message != "feature <id>: ring <n> crosses itself" {
		t.Errorf("got %+v", groups)
	}
}

func TestShow_gives_headers_bytes_and_the_decoded_feature(t *testing.T) {
	w := newWorld(t)
	value := fmt.Sprintf(bowTie, "a")
	w.die(letter(1, "x", "other"), letter(1, "a", value), letter(1, "y", "other"))
	d, err := w.service().Show(w.ctx(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if string(d.Letter.Content.Value) != value || d.Letter.Content.Headers[0].Key != "traceparent" {
		t.Errorf("content %+v", d.Letter.Content)
	}
	if d.Decode != nil || !strings.Contains(string(d.Feature), `"id":"a"`) {
		t.Errorf("feature %s, %v", d.Feature, d.Decode)
	}
	if d.Verdict.Passes || d.Verdict.Code != classify.CodeGeometryInvalid || d.Verdict.Message == "" {
		t.Errorf("verdict %+v", d.Verdict)
	}
}

func TestShow_says_why_bytes_cannot_be_decoded(t *testing.T) {
	w := newWorld(t)
	tomb := letter(0, "tomb", "")
	tomb.Value = nil
	w.die(letter(0, "broken", `{"type":`), tomb)
	s := w.service()
	d, err := s.Show(w.ctx(), "broken")
	if err != nil || d.Decode == nil || d.Feature != nil || d.Verdict.Code != classify.CodeTruncatedJSON {
		t.Errorf("broken: %+v, %v", d, err)
	}
	d, err = s.Show(w.ctx(), "tomb")
	if err != nil || d.Decode != nil || d.Feature != nil || !d.Verdict.Passes {
		t.Errorf("tombstone: %+v, %v", d, err)
	}
	if _, err := s.Show(w.ctx(), "nobody"); !errors.Is(err, ErrNoLetter) {
		t.Errorf("unknown id: %v", err)
	}
}

func TestPlan_says_what_todays_transform_makes_of_each_letter(t *testing.T) {
	w := newWorld(t)
	w.die(letter(0, "good", fmt.Sprintf(square, "good")), letter(1, "bad", fmt.Sprintf(bowTie, "bad")),
		letter(2, "copy", fmt.Sprintf(square, "good")), letter(2, "done", fmt.Sprintf(square, "done")))
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
	d, err := s.Show(w.ctx(), "event")
	if err != nil || d.Decode != nil || string(d.Feature) != feature || !d.Verdict.Passes {
		t.Errorf("got %s, %+v, %v", d.Feature, d, err)
	}
}

func TestPlan_with_the_id_of_a_closed_letter_says_why_it_is_left(t *testing.T) {
	w := newWorld(t)
	w.die(letter(2, "done", fmt.Sprintf(square, "done")))
	w.die(deadletters.State{ID: "done", Status: deadletters.Reprocessed, At: start, By: "c1"}.Record("features.dlq-status", 2))
	p := w.plan(w.service(), deadletters.Filter{IDs: []string{"done"}})
	if got := w.letters(p); len(got) != 1 || got[0].Do != plan.Leave || !strings.Contains(got[0].Why, "reprocessed") {
		t.Errorf("got %+v", got)
	}
}

func TestPlan_follows_the_filter_and_its_limit(t *testing.T) {
	w := newWorld(t)
	w.dieMany(7)
	s := w.service()
	if p := w.plan(s, deadletters.Filter{Limit: 2}); p.Letters != 2 {
		t.Errorf("limit 2: %d letters", p.Letters)
	}
	if p := w.plan(s, deadletters.Filter{Codes: []string{"timeout"}}); p.Letters != 0 {
		t.Errorf("other code: %d letters", p.Letters)
	}
	if _, err := s.Plan(w.ctx(), deadletters.Filter{Statuses: []deadletters.Status{"gone"}}, PlanOptions{}); err == nil {
		t.Error("an unknown status is accepted")
	}
}

func TestService_names_a_missing_topic(t *testing.T) {
	w := newWorld(t)
	w.cfg.Topics.DLQStatus = "nowhere"
	if _, err := w.service().Letters(w.ctx(), deadletters.Filter{}); !errors.Is(err, deadletters.ErrNoTopic) {
		t.Errorf("got %v", err)
	}
}
