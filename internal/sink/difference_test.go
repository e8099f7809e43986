package sink

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S0-6: what a fact means. The table is written before the topic: one that is behind is wrong, one that is ahead may be right.
func TestDifferenceOf_S0_6(t *testing.T) {
	live := topicState{source: header.Position{Topic: "t", Partition: 1, Offset: 10}, place: 10}
	gone, loose := live, live
	gone.deletes, loose.loose = true, true
	at := func(source string, offset int64, f Fact) Fact {
		f.Known, f.Source, f.Version.Offset = true, source, offset
		return f
	}
	for name, c := range map[string]struct {
		topic topicState
		fact  Fact
		want  Difference
	}{
		"as it should be":                     {live, at("t/1/10", 10, Fact{There: true}), ""},
		"a later duplicate":                   {live, at("t/1/20", 20, Fact{Same: true, There: true}), ""},
		"no row":                              {live, at("t/1/10", 10, Fact{}), DifferenceMissing},
		"another content":                     {live, at("t/1/10", 10, Fact{There: true, Differs: true}), DifferenceChanged},
		"no guard":                            {live, Fact{There: true}, DifferenceMissing},
		"an older event":                      {live, at("t/1/9", 9, Fact{There: true, Differs: true}), DifferenceStale},
		"an older delete":                     {live, at("t/1/9", 9, Fact{Deleted: true}), DifferenceMissing},
		"a newer event":                       {live, at("t/1/11", 11, Fact{There: true, Differs: true}), DifferenceAhead},
		"a newer delete":                      {live, at("t/1/11", 11, Fact{Deleted: true}), DifferenceAhead},
		"another partition":                   {live, at("t/0/9", 9, Fact{There: true, Differs: true}), DifferenceAhead},
		"a guard that says no place":          {live, at("", 9, Fact{There: true}), DifferenceAhead},
		"versions without an order of topics": {loose, at("t/1/9", 9, Fact{There: true, Differs: true}), DifferenceAhead},
		"deleted":                             {gone, at("t/1/10", 10, Fact{Deleted: true}), ""},
		"deleted, and there again":            {gone, at("t/1/10", 10, Fact{Deleted: true, There: true}), DifferenceExtra},
		"deleted, never written":              {gone, Fact{}, ""},
		"deleted, by nobody written":          {gone, Fact{There: true}, DifferenceExtra},
		"not deleted yet":                     {gone, at("t/1/9", 9, Fact{There: true}), DifferenceExtra},
		"alive again":                         {gone, at("t/1/11", 11, Fact{There: true}), DifferenceAhead},
	} {
		if got := differenceOf(c.topic, c.fact); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Of a key the newest record counts; of several partitions the one that was written last.
func TestNewest(t *testing.T) {
	n := newestRecords{places: map[keyHash]recordPosition{}, most: 2}
	rec := func(partition int32, offset, millis int64) *kgo.Record {
		return &kgo.Record{Topic: "out", Partition: partition, Offset: offset, Timestamp: time.UnixMilli(millis)}
	}
	older, newer, elsewhere := rec(0, 1, 5), rec(0, 2, 5), rec(1, 0, 4)
	for _, r := range []*kgo.Record{older, newer, elsewhere} {
		must.Do(t, n.take([]byte("k"), r))
	}
	if n.is([]byte("k"), older) || !n.is([]byte("k"), newer) || n.is([]byte("k"), elsewhere) || n.is([]byte("other"), newer) {
		t.Error(n.places)
	}
	if err := errors.Join(n.take([]byte("l"), older), n.take([]byte("m"), older)); !errors.Is(err, ErrTooManyKeys) {
		t.Error(err)
	}
}
