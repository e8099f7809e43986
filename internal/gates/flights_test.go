package gates

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func at(record int) header.Position { return header.Position{Topic: "t", Offset: int64(record)} }

// attempt is one attempt of a simulated instance.
type attempt struct {
	record, number int
	begins, ends   time.Duration
	fails          bool
}

// instance processes records with this many workers: every sixth record fails at once and is retried, the others succeed
// slowly. Due records of a tier come before new ones. each gets the breaches of each attempt that ends.
func instance(g *Gates, records, workers int, fails func(record int) bool, each func([]Breach)) {
	var running, due []attempt
	now, next := time.Duration(0), 0
	begin := func(a attempt) {
		if a.begins, a.ends, a.fails = now, now+5*time.Second, fails(a.record); a.fails {
			a.ends = now + 10*time.Millisecond
		}
		g.Begun(start.Add(now), at(a.record), "", a.number == 1)
		running = append(running, a)
	}
	for next < records || len(running)+len(due) > 0 {
		for len(running) < workers {
			if i := slices.IndexFunc(due, func(a attempt) bool { return a.begins <= now }); i >= 0 {
				a := due[i]
				due = slices.Delete(due, i, i+1)
				begin(a)
			} else if next < records {
				begin(attempt{record: next, number: 1})
				next++
			} else {
				break
			}
		}
		if len(running) == 0 {
			now = slices.MinFunc(due, func(a, b attempt) int { return cmp.Compare(a.begins, b.begins) }).begins
			continue
		}
		first := slices.MinFunc(running, func(a, b attempt) int { return cmp.Compare(a.ends, b.ends) })
		running = slices.DeleteFunc(running, func(a attempt) bool { return a == first })
		now = first.ends
		last := first.number == 4
		o := Outcome{Retry: first.number > 1, Transient: first.fails, Finished: !first.fails || last, Dead: first.fails && last}
		if g.Over(at(first.record)) {
			g.EndedWithoutRate("", o)
		} else {
			each(g.Ended(start.Add(now), "", o))
		}
		if first.fails && !last {
			due = append(due, attempt{record: first.record, number: first.number + 1, begins: now + 2*time.Second})
		}
	}
}

// S1-8: 100 of 600 records fail at once, three times each, and 500 succeed slowly. At any time, at most every sixth of
// the started records, plus one, has failed.
func TestEnded_S1_8_fastFailuresDoNotOutrunSlowSuccesses(t *testing.T) {
	g := New(Limits{MaxTransientRate: 0, MaxDeadLetterRate: 0, MinRecords: 20})
	highest, last := 0.0, Breach{}
	instance(g, 600, 64, func(i int) bool { return i%6 == 0 }, func(broken []Breach) {
		for _, b := range broken {
			limit := 1.0/6 + 1/float64(b.Of)
			must.That(t, b.Share() <= limit, "%s: beyond %.4f", b, limit)
			if b.Code == TransientRate {
				highest, last = max(highest, b.Share()), b
			}
		}
	})
	expect.That(t, last.Of == 600 && last.Bad == 100 && highest >= 1.0/6, "at the end: %s", last)
}

func TestFlights_S1_8_whatIsInFlight(t *testing.T) {
	none := Outcome{Transient: true}
	for name, c := range map[string]struct {
		do   func(g *Gates)
		want string
	}{
		"counts as good":                   {func(g *Gates) { g.Begun(start, at(1), "", true) }, "transient_rate  1/2"},
		"a retry in flight does not count": {func(g *Gates) { g.Begun(start, at(1), "", false) }, "transient_rate  1/1"},
		"repeated after an aborted transaction, it counts once": {func(g *Gates) {
			g.Begun(start, at(1), "", true)
			g.Begun(start.Add(time.Second), at(1), "", true)
		}, "transient_rate  1/2"},
		"withdrawn":              {func(g *Gates) { g.Begun(start, at(1), "", true); g.Over(at(1)) }, "transient_rate  1/1"},
		"over twice":             {func(g *Gates) { g.Begun(start, at(1), "", true); g.Over(at(1)); g.Over(at(1)) }, "transient_rate  1/1"},
		"begun before the reset": {func(g *Gates) { g.Begun(start, at(1), "", true); g.Reset() }, "transient_rate  1/1"},
		"never ended, since its partition was revoked": {func(g *Gates) {
			g.Begun(start, at(1), "", true)
			g.Begun(start.Add(6*time.Minute), at(2), "", true)
		}, "transient_rate  1/2"},
	} {
		g := New(Limits{MaxTransientRate: 0.1, MaxDeadLetterRate: 1, MinRecords: 1})
		c.do(g)
		expect.Equal(t, short(g.Ended(start.Add(6*time.Minute), "", none)), c.want, name, c)
	}
}

// An attempt that began before a resume does not pause the pipeline again, although it fails later.
func TestOver_S1_8_anAttemptFromBeforeTheResetIsStale(t *testing.T) {
	g := New(Limits{})
	g.Begun(start, at(1), "b", true)
	g.Reset()
	expect.That(t, g.Over(at(1)) && !g.Over(at(1)) && !g.Over(at(2)), "only the attempt that began before the reset is stale")
	g.Begun(start, at(1), "b", true)
	g.Forget("b")
	g.Begun(start, at(3), "c", true)
	expect.That(t, g.Over(at(1)) && !g.Over(at(3)), "only the batch that is forgotten is stale")
}

// S4-9, S4-1: immediate permanent failures do not outrun slow successes, in a window or in a batch.
func TestEnded_S4_9_deadLettersDoNotOutrunWhatIsInFlight(t *testing.T) {
	for _, batch := range []string{"", "b"} {
		g := New(Limits{MaxTransientRate: 1, MaxDeadLetterRate: 0.2, MinRecords: 50, SeparateBatches: true})
		for i := range 100 {
			g.Begun(start, at(i), batch, true)
		}
		for i := range 30 { // 70 are in flight
			g.Over(at(i))
			broken := g.Ended(start, batch, Outcome{Finished: true, Dead: true})
			over := i >= 20
			must.That(t, over == (len(broken) > 0), "batch %q, %d of 100 are dead: %s", batch, i+1, short(broken))
			if len(broken) > 0 {
				expect.That(t, strings.Contains(broken[0].String(), "21 of 100 records (21 %) became dead letters") && strings.Contains(broken[0].String(), "with 79 in flight"), "in words: %s", broken[0])
				break
			}
		}
	}
}

// points returns n different points with exactly this many decimals, the last of which may be 0.
func points(n, decimals int) []orb.Point {
	random, scale := rand.New(rand.NewPCG(7, uint64(decimals))), math.Pow10(decimals)
	out := make([]orb.Point, n)
	for i := range out {
		out[i] = orb.Point{math.Round(random.Float64()*20*scale) / scale, math.Round((40+random.Float64()*10)*scale) / scale}
	}
	return out
}

// feed returns the index of the first point at which the floor is broken, or -1.
func feed(g *Gates, batch, prefix string, all []orb.Point) int {
	for i, p := range all {
		if _, broken := g.Precision(start, batch, SampleOf(prefix+strconv.Itoa(i), p), true); broken {
			return i
		}
	}
	return -1
}

func TestPrecision_S0_9_theFloorIsJudgedOverAWindow(t *testing.T) {
	same := func(p orb.Point, n int) []orb.Point {
		out := make([]orb.Point, n)
		for i := range out {
			out[i] = p
		}
		return out
	}
	for name, c := range map[string]struct {
		before, points []orb.Point
		least, highest int // the index at which it breaks; -1 for never
	}{
		"accurate points, a tenth of which end in 0":    {nil, points(100_000, 6), -1, -1},
		"more decimals than the floor":                  {nil, points(10_000, 12), -1, -1},
		"one round point among accurate ones":           {points(500, 6), []orb.Point{{9.5, 47.1}}, -1, -1},
		"the first record is round":                     {nil, []orb.Point{{9.5, 47.1}}, -1, -1},
		"truncated to 5 decimals from the start":        {nil, points(200, 5), 25, 25},
		"truncated to 4 decimals after accurate points": {points(500, 6), points(200, 4), 17, 25},
		"all at one position, in whole degrees":         {nil, same(orb.Point{9, 47}, 200), 25, 25},
		"fewer than the window needs":                   {nil, points(25, 4), -1, -1},
		"truncated to 2 decimals within a city":         {points(500, 6), points(100, 2), 17, 25},
		"7 decimals":                                    {nil, points(10_000, 7), -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(Limits{Floor: 6})
			at := feed(g, "", "before", c.before)
			must.That(t, at < 0, "honest point %d breaks the floor", at)
			at = feed(g, "", "p", c.points)
			expect.That(t, at >= c.least && at <= c.highest, "broken at point %d, want %d to %d", at, c.least, c.highest)
		})
	}
}

func TestPrecision_S0_9_whatFailsIsBelowTheFloorItself(t *testing.T) {
	g := New(Limits{Floor: 6})
	feed(g, "", "g", points(100, 6))
	must.That(t, feed(g, "", "p", points(60, 4)) >= 0, "the floor was not broken")
	for i, p := range points(60, 4) { // all are judged, and counted once
		g.Precision(start, "", SampleOf("p"+strconv.Itoa(i), p), true)
	}
	b, broken := g.Precision(start, "", SampleOf("x", orb.Point{9.123456, 47.123456}), true)
	expect.That(t, !broken, "an accurate feature among coarse ones: %s", b)
	b, broken = g.Precision(start, "", SampleOf("x", orb.Point{9.1234, 47.1234}), false)
	want := " of the last 100 ordinates have fewer than 6 decimals; tolerated are 50 of 100 (pipeline.tolerance.precision_decimal_threshold)"
	expect.That(t, broken && strings.HasSuffix(b.String(), want), "in words: %v %s", broken, b)
	n, enough := g.Decimals()
	expect.That(t, n == 4 && enough, "%d decimals, %v", n, enough)
	g.Reset()
	_, broken = g.Precision(start, "", SampleOf("x", orb.Point{9.1234, 47.1234}), true)
	expect.That(t, !broken, "a reset does not empty the window")
	_, enough = g.Decimals()
	expect.That(t, !enough, "one point is not enough to measure")
}

// The repetition of a stationary feature, a retry, or one large geometry is not evidence.
func TestPrecision_S0_9_oneFeatureHaltsNothing(t *testing.T) {
	g := New(Limits{Floor: 6})
	ring := orb.Ring{}
	for i := range 5000 {
		ring = append(ring, orb.Point{float64(i) / 1000, 40 + float64(i)/1000})
	}
	for range 1000 {
		_, broken := g.Precision(start, "", SampleOf("sensor", orb.Point{9.5, 47.1}), true)
		must.That(t, !broken, "a sensor in a round place")
	}
	_, broken := g.Precision(start, "", SampleOf("lake", orb.Polygon{ring}), true)
	expect.That(t, !broken, "one polygon")
	expect.Equal(t, len(SampleOf("lake", orb.Polygon{ring}).ordinates), 2*positionsOfOne, "ordinates of a large geometry")
	s := SampleOf("none", nil)
	expect.That(t, len(s.ordinates) == 0 && !s.coarse(6), "no geometry: %+v", s)
}

// S4-1: a batch is judged on its own, and one bad batch does not affect the others.
func TestPrecision_S4_1_aBatchAnswersForItself(t *testing.T) {
	for name, c := range map[string]struct {
		apart bool
		want  string // the batch of the breach
	}{"by itself": {true, "bad"}, "with all others": {false, ""}} {
		t.Run(name, func(t *testing.T) {
			g := New(Limits{Floor: 6, SeparateBatches: c.apart})
			feed(g, "good", "g", points(500, 6))
			for i, p := range points(200, 4) {
				if b, broken := g.Precision(start, "bad", SampleOf("b"+strconv.Itoa(i), p), true); broken {
					expect.That(t, b.Batch == c.want && b.Coarse > coarseLimit, "%s", b)
					break
				}
			}
			if c.apart {
				at := feed(g, "good", "h", points(500, 6))
				expect.That(t, at < 0 && g.precision.coarser(6) <= coarseLimit, "the window still counts the batch: point %d", at)
			}
		})
	}
	g := New(Limits{Floor: 6, SeparateBatches: true})
	broken := false
	for i, p := range points(200, 4) { // no batch is large enough to be judged on its own
		b, yes := g.Precision(start, "small"+strconv.Itoa(i/20), SampleOf("s"+strconv.Itoa(i), p), true)
		broken = broken || yes && b.Batch == ""
	}
	expect.That(t, broken, "many small bad batches")
}

func TestDecimalsOf(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "-0": 0, "180": 0, "9.5": 1, "-47.1234": 4, "2600000.123": 3, "8.123456": 6, "-122.4194155": 7, "0.1234567890123": 13,
		"8.123456789012345": 15, "0.30000000000000004": 15, "1e-9": 9, "1e300": 0,
	} {
		x, err := strconv.ParseFloat(text, 64)
		got := decimalsOf(x)
		expect.That(t, err == nil && got == want, "%s: %d decimals, want %d", text, got, want)
	}
}
