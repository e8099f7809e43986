package sink

import (
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// repeat asks about an event that says what took effect last, and wants an answer.
func (b *bench) repeat(key string, number, offset int64, hash string, want bool) {
	b.t.Helper()
	stale := must.Get(b.Repeated(b.t.Context(), &Repeat{Key: []byte(key), Version: retrytopics.Version{Number: number, Offset: offset}, ContentHash: hash, Source: "t/0/9"}))(b.t)
	if stale != want {
		b.t.Errorf("%s, version %d/%d, %s: stale %t", key, number, offset, hash, stale)
	}
}

// says is a row with a content hash of its own.
func (b *bench) says(key string, number, offset int64, name string) *Row {
	r := b.row(key, number, offset, `{"name":"`+name+`"}`, point)
	r.ContentHash = name
	return r
}

// S0-6: A is there. B was written and its answer lost. A comes again: its row is written again, and B stays out when it comes late.
func TestSink_S0_6_aRepeatFindsWhatALostAnswerLeft(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	name := func(want string) {
		t.Helper()
		if got := b.ask("select coalesce((select name from parcels where id = 'k'), 'none')"); got != want {
			t.Errorf("the table has %s, want %s", got, want)
		}
	}
	b.repeat("k", 0, 1, "A", true) // nothing was ever written
	b.must(b.says("k", 0, 1, "A"))
	b.repeat("k", 0, 3, "A", false)
	b.must(b.says("k", 0, 2, "B")) // late: the repeat lies behind it
	name("A")
	b.must(b.says("k", 0, 4, "B"))
	b.repeat("k", 0, 3, "A", false) // and B behind that
	name("B")
	b.repeat("k", 0, 5, "A", true)
	b.must(b.says("k", 0, 5, "A"))
	name("A")
	b.must(b.row("k", 0, 6, "", "")) // a delete is no other than B
	b.repeat("k", 7, 5, "A", false)
	b.repeat("k", 0, 7, "A", true)
	b.repeat("\xff", 0, 7, "A", true) // no text: the write refuses it
	b.repeat("\x00", 0, 7, "A", true)
}

// A file that is sent again is nothing but repeats: they go to the database together, and each gets its own answer.
func TestSink_S0_6_repeatsAreAskedTogether(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	var rows []*Row
	for i := range 400 {
		rows = append(rows, b.says(string(rune('a'+i%26))+string(rune('a'+i/26)), 0, int64(i), "A"))
	}
	b.must(rows...)
	var all sync.WaitGroup
	for i, r := range rows {
		all.Go(func() {
			hash, want := "A", false
			if i%7 == 0 {
				hash, want = "B", true
			}
			stale, err := b.Repeated(t.Context(), &Repeat{Key: r.Key, Version: retrytopics.Version{Offset: 1000 + int64(i)}, ContentHash: hash, Source: "t/0/1"})
			if err != nil || stale != want {
				t.Errorf("%s: stale %t, %v", r.Key, stale, err)
			}
		})
	}
	all.Wait()
	if got := b.ask("select count(*) from parcels_switchback where source_offset >= 1000"); got != "342" {
		t.Errorf("%s guards were raised", got)
	}
}

// A repeat waits for the database as a write does.
func TestSink_S3_5_aRepeatIsDeferredWithTheRest(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.must(b.says("k", 0, 1, "A"))
	b.exec("alter table parcels_switchback rename to gone")
	defer b.execAfter("alter table gone rename to parcels_switchback")
	b.table.Store(nil)
	_, err := b.Repeated(t.Context(), &Repeat{Key: []byte("k"), Version: retrytopics.Version{Offset: 2}, ContentHash: "A"})
	wantHold(t, err, Dependency, "parcels_switchback")
}
