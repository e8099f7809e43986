package sinkverify

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// S0-6: what a fact means. The table is written before the topic: one that is behind is wrong, one that is ahead may be right.
func TestJudge_S0_6_whatTheTableSays(t *testing.T) {
	live := said{source: retrytopics.Position{Topic: "t", Partition: 1, Offset: 10}, place: 10}
	gone, loose := live, live
	gone.deletes, loose.loose = true, true
	at := func(source string, offset int64, f sink.Fact) sink.Fact {
		f.Known, f.Source, f.Version.Offset = true, source, offset
		return f
	}
	for name, c := range map[string]struct {
		said said
		fact sink.Fact
		want Kind
	}{
		"as it should be":                     {live, at("t/1/10", 10, sink.Fact{There: true}), ""},
		"a later duplicate":                   {live, at("t/1/20", 20, sink.Fact{Same: true, There: true}), ""},
		"no row":                              {live, at("t/1/10", 10, sink.Fact{}), Missing},
		"another content":                     {live, at("t/1/10", 10, sink.Fact{There: true, Differs: true}), Changed},
		"no guard":                            {live, sink.Fact{There: true}, Missing},
		"an older event":                      {live, at("t/1/9", 9, sink.Fact{There: true, Differs: true}), Stale},
		"an older delete":                     {live, at("t/1/9", 9, sink.Fact{Deleted: true}), Missing},
		"a newer event":                       {live, at("t/1/11", 11, sink.Fact{There: true, Differs: true}), Ahead},
		"a newer delete":                      {live, at("t/1/11", 11, sink.Fact{Deleted: true}), Ahead},
		"another partition":                   {live, at("t/0/9", 9, sink.Fact{There: true, Differs: true}), Ahead},
		"a guard that says no place":          {live, at("", 9, sink.Fact{There: true}), Ahead},
		"versions without an order of topics": {loose, at("t/1/9", 9, sink.Fact{There: true, Differs: true}), Ahead},
		"deleted":                             {gone, at("t/1/10", 10, sink.Fact{Deleted: true}), ""},
		"deleted, and there again":            {gone, at("t/1/10", 10, sink.Fact{Deleted: true, There: true}), Extra},
		"deleted, never written":              {gone, sink.Fact{}, ""},
		"deleted, by nobody written":          {gone, sink.Fact{There: true}, Extra},
		"not deleted yet":                     {gone, at("t/1/9", 9, sink.Fact{There: true}), Extra},
		"alive again":                         {gone, at("t/1/11", 11, sink.Fact{There: true}), Ahead},
	} {
		if got := judge(c.said, c.fact); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Of a key the newest record counts; of several partitions the one that was written last.
func TestNewest(t *testing.T) {
	n := newest{places: map[keyHash]place{}, most: 2}
	rec := func(partition int32, offset, millis int64) *kgo.Record {
		return &kgo.Record{Topic: "out", Partition: partition, Offset: offset, Timestamp: time.UnixMilli(millis)}
	}
	older, newer, elsewhere := rec(0, 1, 5), rec(0, 2, 5), rec(1, 0, 4)
	for _, r := range []*kgo.Record{older, newer, elsewhere} {
		if err := n.take([]byte("k"), r); err != nil {
			t.Fatal(err)
		}
	}
	if n.is([]byte("k"), older) || !n.is([]byte("k"), newer) || n.is([]byte("k"), elsewhere) || n.is([]byte("other"), newer) {
		t.Error(n.places)
	}
	if err := errors.Join(n.take([]byte("l"), older), n.take([]byte("m"), older)); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}
