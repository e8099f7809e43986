package conservation

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fixture has a pipeline's topics, built by hand. The tests break each guarantee once, and the checker must notice.
type fixture struct {
	t   *testing.T
	ctx context.Context
	c   *topiclog.Cluster
	p   Pipeline
}

func newFixture(t *testing.T, c *topiclog.Cluster) *fixture {
	t.Helper()
	ctx, name := testrun.Context(t, 30*time.Second), topiclog.Unique("w")
	w := &fixture{t: t, ctx: ctx, c: c, p: Pipeline{
		Source: name, Output: name + ".out", DLQ: name + ".dlq", Audit: name + ".audit", Group: name, Tiers: []string{name + ".retry-1s"},
	}}
	for _, topic := range append([]string{w.p.Source, w.p.Output, w.p.DLQ, w.p.Audit}, w.p.Tiers...) {
		must.Do(t, c.Create(ctx, topic, 1, nil))
	}
	return w
}

func (w *fixture) put(topic, key, value string, headers ...string) *kgo.Record {
	w.t.Helper()
	r := &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[i], Value: []byte(headers[i+1])})
	}
	must.Do(w.t, w.c.Produce(w.ctx, r))
	return r
}

// input appends a source record that the group has committed.
func (w *fixture) input(key string, headers ...string) string {
	r := w.put(w.p.Source, key, "v", headers...)
	w.commit(w.p.Source, r.Offset+1)
	return topiclog.Position(r)
}

func (w *fixture) commit(topic string, at int64) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, at, -1)
	must.Get(w.c.Admin().CommitOffsets(w.ctx, w.p.Group, offsets))(w.t)
}

func (w *fixture) output(from string) { w.put(w.p.Output, "k", "out", headerSource, from) }

// parts appends outputs of one record.
func (w *fixture) parts(from string, parts ...string) {
	for _, part := range parts {
		w.put(w.p.Output, "k"+part, "out", headerSource, from, headerPart, part)
	}
}

func (w *fixture) letter(from, key, value string, headers ...string) {
	w.put(w.p.DLQ, key, value, append([]string{headerSource, from, headerLetter, "0-1-abcd"}, headers...)...)
}

// dead appends an input and its dead letter; back appends its replay.
func (w *fixture) dead() string {
	from := w.input("k")
	w.letter(from, "k", "v")
	return from
}

func (w *fixture) back(from, id string) string {
	return w.input("k", headerSource, from, headerReplay, id)
}

func TestAccount(t *testing.T) {
	t.Setenv(broker.EnvForce, "kfake") // the checker needs no real broker
	b := must.Get(broker.Start(t.Context()))(t)
	t.Cleanup(func() { _ = b.Close() })
	c := topiclog.Connect(t, b.Addrs)

	cases := map[string]struct {
		do    func(*fixture)
		fault string // part of the only fault, "" for none
	}{
		"delivered": {func(w *fixture) { w.output(w.input("k")) }, ""},
		"dead":      {func(w *fixture) { w.dead() }, ""},
		"not_read":  {func(w *fixture) { w.put(w.p.Source, "k", "v") }, ""},
		"waiting":   {func(w *fixture) { w.put(w.p.Tiers[0], "k", "v", headerSource, w.input("k")) }, ""},
		"closed":    {func(w *fixture) { w.audit(w.input("k"), "duplicate") }, ""},
		"came_back": {func(w *fixture) { from := w.dead(); w.back(from, "r1"); w.output(from) }, ""},
		"came_back_by_the_position_of_its_replay": {func(w *fixture) { w.output(w.back(w.dead(), "r1")) }, ""},
		"superseded_reopened_and_delivered": {func(w *fixture) {
			from := w.dead()
			w.back(from, "r1")
			w.audit(from, "superseded")
			w.put(w.p.Audit, "k", `{"source":"`+from+`","decision":"state_changed","message":"dead letter x: superseded -> pending by ana"}`)
			w.output(w.back(from, "r2"))
		}, ""},
		"superseded_and_put_back_again": {func(w *fixture) {
			from := w.dead()
			w.back(from, "r1")
			w.audit(from, "superseded")
			w.output(w.back(from, "r2"))
		}, "put back more often than it died or was reopened"},
		"delivered_in_parts":                    {func(w *fixture) { w.parts(w.input("k"), "0/3", "2/3") }, ""},
		"a_part_twice":                          {func(w *fixture) { w.parts(w.input("k"), "0/2", "1/2", "1/2") }, "part 1/2 is in the output twice"},
		"parts_and_dead":                        {func(w *fixture) { from := w.input("k"); w.parts(from, "0/1"); w.letter(from, "k", "v") }, "is in 2 places"},
		"lost":                                  {func(w *fixture) { w.input("k") }, "is in 0 places"},
		"lost_from_a_tier":                      {func(w *fixture) { w.put(w.p.Tiers[0], "k", "v", headerSource, w.input("k")); w.commit(w.p.Tiers[0], 1) }, "is in 0 places"},
		"doubled":                               {func(w *fixture) { from := w.input("k"); w.output(from); w.output(from) }, "is in 2 places"},
		"delivered_and_dead":                    {func(w *fixture) { from := w.input("k"); w.output(from); w.letter(from, "k", "v") }, "is in 2 places"},
		"dead_twice":                            {func(w *fixture) { w.letter(w.dead(), "k", "v") }, "is in 2 places"},
		"replayed_twice":                        {func(w *fixture) { from := w.dead(); w.output(w.back(from, "r1")); w.output(w.back(from, "r1")) }, "Replays:2"},
		"delivered_and_closed":                  {func(w *fixture) { from := w.input("k"); w.output(from); w.audit(from, "superseded") }, "is in 2 places"},
		"an_output_of_nothing":                  {func(w *fixture) { w.output(w.p.Source + "/0/77") }, "that is not in the source"},
		"an_output_without_a_source":            {func(w *fixture) { w.put(w.p.Output, "k", "out") }, "names 0 times"},
		"a_letter_with_another_value":           {func(w *fixture) { w.letter(w.input("k"), "k", "w") }, "the value"},
		"a_letter_with_another_key":             {func(w *fixture) { w.letter(w.input("k"), "K", "v") }, "key"},
		"a_letter_without_a_producer_header":    {func(w *fixture) { w.letter(w.input("k", "ce_id", "7"), "k", "v") }, "0 producer headers"},
		"a_letter_with_another_producer_header": {func(w *fixture) { w.letter(w.input("k", "ce_id", "7"), "k", "v", "ce_id", "8") }, "producer header 0"},
		"a_letter_without_an_id":                {func(w *fixture) { w.put(w.p.DLQ, "k", "v", headerSource, w.input("k")) }, "headers switchback-dead-letter-id"},
		"headers_that_pile_up": {func(w *fixture) {
			w.letter(w.input("k"), "k", "v", "switchback-attempt", "1", "switchback-attempt", "2")
		}, "is there 2 times"},
		"headers_beyond_bounds": {func(w *fixture) {
			w.letter(w.input("k"), "k", "v", "switchback-error-message", strings.Repeat("x", 9000))
		}, "own headers take"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, c)
			test.do(w)
			faults := must.Get(Take(w.ctx, c, w.p))(t).Faults()
			expect.That(t, len(faults) == 0 && test.fault == "" || len(faults) == 1 && test.fault != "" && strings.Contains(faults[0].What, test.fault), "faults %v, want one with %q", faults, test.fault)
		})
	}
}

func (w *fixture) audit(from, decision string) {
	w.put(w.p.Audit, "k", `{"source":"`+from+`","decision":"`+decision+`"}`)
}
