package tolerance

import (
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

func feature(owner, zone bool) *transform.Feature {
	f := &transform.Feature{}
	if owner {
		f.SetProperty("owner", transform.StringValue("x"))
	} else {
		f.SetProperty("owner", transform.NullValue())
	}
	if zone { // a field may also be missing
		f.SetProperty("zone", transform.StringValue("W2"))
	}
	return f
}

func TestNullRates_S0_9(t *testing.T) {
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	n := New(Options{Fields: []string{"owner", "zone"}, MaxNullRate: 0.1, Window: time.Minute, MinRecords: 10})
	for i := range 20 {
		n.Count(start.Add(time.Duration(i)*time.Second), "b"+strconv.Itoa(i/10), feature(i != 3, i < 16))
	}
	now := start.Add(20 * time.Second)
	if got, want := n.Window(now), []Rate{{Field: "owner", Nulls: 1, Of: 20}, {Field: "zone", Nulls: 4, Of: 20}}; !reflect.DeepEqual(got, want) {
		t.Errorf("window %+v, want %+v", got, want)
	}
	if got, want := n.Beyond(now, "b1"), []Rate{{"zone", "b1", 4, 10}, {"zone", "", 4, 20}}; !reflect.DeepEqual(got, want) {
		t.Errorf("beyond %+v, want %+v", got, want)
	}
	if got := n.Beyond(now, "b0"); len(got) != 1 || got[0].Batch != "" {
		t.Errorf("10 %% of a batch is tolerated: %+v", got)
	}
	if got := n.Window(start.Add(70 * time.Second)); got[1].Of >= 20 || got[1].Of == 0 {
		t.Errorf("the window did not slide: %+v", got)
	}
	if got := n.Window(start.Add(time.Hour)); got[1].Of != 0 || got[1].Share() != 0 {
		t.Errorf("an hour later: %+v", got)
	}
	if got := n.Beyond(start.Add(time.Hour), ""); len(got) != 0 {
		t.Errorf("an hour later: %+v", got)
	}
}

func TestNullRates_few_records_say_nothing(t *testing.T) {
	now := time.Unix(1e9, 0)
	n := New(Options{Fields: []string{"zone"}, MaxNullRate: 0})
	for i := range DefaultMinRecords {
		if got := n.Beyond(now, ""); len(got) != 0 {
			t.Fatalf("after %d: %+v", i, got)
		}
		n.Count(now, "", feature(true, false))
	}
	if got := n.Beyond(now, ""); len(got) != 1 || got[0].Share() != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestNullRates_forgets_the_batch_not_heard_of_for_longest(t *testing.T) {
	now := time.Unix(1e9, 0)
	n := New(Options{Fields: []string{"zone"}, MaxBatches: 2})
	for _, id := range []string{"a", "b", "a", "c"} {
		n.Count(now, id, feature(true, true))
	}
	if n.Batch("b") != nil || n.Batch("a") == nil || n.Batch("c") == nil {
		t.Errorf("a %v, b %v, c %v", n.Batch("a"), n.Batch("b"), n.Batch("c"))
	}
}

func TestNullRates_from_many_goroutines(t *testing.T) {
	now := time.Unix(1e9, 0)
	n := New(Options{Fields: FieldsOf(transform.Config{Fields: []transform.Field{{To: "zone"}, {To: "id", Required: true}}})})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				n.Count(now, "b", feature(true, false))
				n.Beyond(now, "b")
			}
		})
	}
	group.Wait()
	if got, want := n.Batch("b"), []Rate{{"zone", "b", 800, 800}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
