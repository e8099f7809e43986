package integration

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S0-8: a version far in the future becomes a dead letter and freezes its key neither in the engine nor in the table's guard. A
// person who finds it right lets it through, and then it counts.
func TestVersionInFuture_S0_8_freezesNoKey(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	const versioned = "version: properties.level\n  version_form: unix_ms"
	tab := withTable(t, postgis.Need(t), 2*time.Minute, func(s *settings) { s.Partitions, s.Source = 1, versioned })
	p := tab.p
	soon := int(time.Now().Add(3 * time.Hour).UnixMilli())
	p.at(9e15, "a")
	p.at(soon, "a")
	p.drain()
	letters := p.read(p.topics.DLQ)
	if len(letters) != 2 || len(tab.rows()) != 0 {
		t.Fatalf("%d dead letters, rows %v", len(letters), tab.rows())
	}
	for i, letter := range letters {
		message := value(letter, "switchback-error-message")
		if value(letter, "switchback-error-code") != "version_in_future" || !strings.Contains(message, "source.max_version_ahead") || !strings.Contains(message, []string{"9000000000000000", strconv.Itoa(soon)}[i]) {
			t.Errorf("%s: %s", value(letter, "switchback-error-code"), message)
		}
	}
	for _, level := range []int{2, 3} {
		p.at(level, "a")
		p.drain()
		if row := tab.rows()["a"]; row.Level != level {
			t.Errorf("the row says %d, want %d", row.Level, level)
		}
	}
	p.wantLevels(1, 2, 3)
	p.set.Source = versioned + "\n  max_version_ahead: 24h"
	p.write()
	if code, out := p.replay("--execute", "--including-failing"); code != 0 {
		t.Fatalf("replay: exit code %d\n%s", code, out)
	}
	p.drain()
	p.wantLevels(1, 2, 3, soon)
	if row := tab.rows()["a"]; row.Level != soon {
		t.Errorf("the row says %d, want %d", row.Level, soon)
	}
	wantTotals(t, p.verify(), 4, conservation.Place{Output: 3, Letters: 3, Replays: 2}) // the other one died again
}
