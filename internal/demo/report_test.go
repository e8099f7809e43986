package demo

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/app"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/demo/places"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/safetext"
)

var topicNames = config.Topics{DLQ: "features.dlq", Audit: "features.audit", TierPrefix: "features.retry-"} //nolint:gochecknoglobals // a constant

// golden compares a screen with its file; REWRITE=1 writes the file anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("REWRITE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; REWRITE=1 go test writes it anew\n%s", path, got)
	}
}

func TestFirstScreen(t *testing.T) {
	tally := newTally()
	tally.balance = Balance{Consumed: 4938, Delivered: 4898, DeadLettered: 40}
	tally.tries = map[int]int64{1: 2879, 3: 975, 2: 431}
	tally.samples.byGeometry = map[string]sample{
		"Polygon": {key: "04015", attempts: 1, geometry: "Polygon", properties: `{"county_name":"Mohave"}`},
		"Point":   {key: "ci37868143", attempts: 3, geometry: "Point", properties: `{"magnitude":2}`},
	}
	screen := firstScreen{
		topics: topicNames, source: "features", output: "features.out", tally: tally, took: 79 * time.Second,
		tiers: []app.TierProgress{
			{Topic: "features.retry-2s", Retried: 2016, LatenessP50: 400 * time.Microsecond, LatenessP99: 3 * time.Millisecond},
			{Topic: "features.retry-60s"},
		},
		groups: []deadletters.Group{
			{Count: 21, Code: "geometry_invalid", Said: "a ring meets itself near -121.47 37.48"},
			{Count: 19, Code: "geometry_structure", Said: strings.Repeat("a ring has 2 positions ", 10)},
		},
		replies: map[places.Kind]int64{places.KindAnswer: 4827, places.KindOutage: 4263},
	}
	golden(t, "first.txt", screen.String())
}

func TestSecondScreen(t *testing.T) {
	screen := secondScreen{
		topics: topicNames, source: "features", output: "features.out", took: 3800 * time.Millisecond,
		balance: Balance{Consumed: 4959, Delivered: 4918, DeadLettered: 40, Lost: 1},
		result:  replay.Result{Reinjected: 21, Left: 19},
		letters: map[deadletters.Status]int{deadletters.Pending: 19, deadletters.Reprocessed: 21},
	}
	golden(t, "second_unbalanced.txt", screen.String())
}

func TestDryRun(t *testing.T) {
	p, err := plan.Make(plan.Head{}, func(w *plan.Writer) error {
		return errors.Join(
			w.Add(&plan.Letter{Offset: 1, ID: "0-1-a", Group: "g", Died: "geometry_invalid", Do: plan.Reinject, Today: plan.Verdict{Passes: true}}),
			w.Add(&plan.Letter{Offset: 2, ID: "0-2-b", Group: "h", Died: "geometry_structure", Do: plan.Reinject, Today: plan.Verdict{Code: "geometry_structure", Message: "a ring has 2 positions"}}),
			w.Add(&plan.Letter{Offset: 3, ID: "0-3-c", Group: "i", Died: "timeout", Do: plan.Leave, Why: "it is discarded"}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "dryrun.txt", dryRun(p.Summary(), p.Outlook()))
}

func TestGroups_has_room_for_few(t *testing.T) {
	text := groups(make([]deadletters.Group, maxGroups+3))
	if !strings.Contains(text, "and 3 groups more") || strings.Count(text, "\n") != maxGroups+1 {
		t.Errorf("%q", text)
	}
	if groups(nil) != "  none\n" {
		t.Errorf("%q", groups(nil))
	}
}

func TestReplies_names_every_kind(t *testing.T) {
	counts := map[places.Kind]int64{}
	for _, kind := range places.Kinds() {
		counts[kind] = 1
	}
	parts := strings.Split(replies(counts), ", ")
	if len(parts) != len(places.Kinds()) || slices.Contains(parts, "1 ") {
		t.Errorf("%q", parts)
	}
}

func TestFrame(t *testing.T) {
	now := time.Unix(1000, 0)
	f := frame{
		elapsed: 67 * time.Second, now: now, produced: 3412, events: 4938, rate: 131.4, outage: 11 * time.Second,
		progress: app.Progress{
			Consumed: 3398, Delivered: 2870, DeadLettered: 26,
			Tiers: []app.TierProgress{
				{Topic: "features.retry-2s", Waiting: 261, NextDue: now.Add(400 * time.Millisecond), Retried: 803},
				{Topic: "features.retry-8s", Waiting: 1, NextDue: now.Add(-time.Second), Retried: 1541},
				{Topic: "features.retry-60s"},
			},
			DeadByCode: map[string]int64{"geometry_invalid": 14, "geometry_structure": 12},
		},
	}
	golden(t, "frame.txt", strings.Join(f.lines(), "\n")+"\n")
	for _, line := range f.lines() {
		if safetext.Cut(line, width) != line {
			t.Errorf("would be cut on a terminal: %q", line)
		}
	}
	f.outage = 0
	if text := strings.Join(f.lines(), "\n"); !strings.Contains(text, "service up") {
		t.Errorf("%s", text)
	}
}
