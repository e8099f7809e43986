package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

const levelled = `{"type":"Feature","id":"%s","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":"%s","level":%s}}`

// refusedLevels fills the DLQ with features that died of these levels.
func (d *desk) refusedLevels(levels ...string) {
	d.t.Helper()
	text := must.Get(os.ReadFile("pipeline.yaml"))(d.t)
	text = append(text, "transform: { unmapped: drop, fields: [{ from: id, to: id, type: string }, { from: level, to: level, type: integer }] }\n"...)
	must.Do(d.t, os.WriteFile("pipeline.yaml", text, 0o600))
	var records []*kgo.Record
	for i, level := range levels {
		id := fmt.Sprintf("0-%d-aaaaaaaa", i)
		r := letter(0, id, fmt.Sprintf(levelled, id, id, level), "the string cannot become a field of type integer at /properties/level")
		for n, h := range r.Headers {
			if h.Key == header.KeyErrorCode {
				r.Headers[n].Value = []byte("coercion_failed")
			}
		}
		records = append(records, r)
	}
	d.put(records...)
}

// S4-6: the values that a mapping refuses, with how often they occur, come from today's transform, so from any format and for all that it
// judges. What passes by now has none.
func TestGroups_S4_6_countsTheValuesThatAreRefused(t *testing.T) {
	d := newDesk(t, true)
	d.env.Width = 80
	d.refusedLevels(`"12 m"`, `"12 ha"`, `"12 m"`, `"12 m"`, `3`, `"\u001b[31mred"`, `"a"`, `"b"`, `"c"`)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "table")
	d.prints(`3 × "12 m" at /properties/level`, `1 × "12 ha" at /properties/level`, "1 other value, once", "of the oldest 9 dead letters")
	for line := range strings.Lines(d.out.String()) {
		n := len([]rune(strings.TrimSuffix(line, "\n")))
		expect.That(t, n <= 80 && !strings.Contains(line, "\x1b"), "%d characters, or an escape: %q", n, line)
	}

	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "--values", "-o", "ndjson")
	var g dlq.GroupJSON
	d.decode(&g)
	expect.That(t, g.Values != nil && g.Values.Read == 9 && g.Values.Refused == 8 && g.Values.Others == 0 && len(g.Values.Most) == 6 && g.Values.Most[0] == (dlq.ValueJSON{Path: "/properties/level", Value: `"12 m"`, Count: 3}),
		"values %+v", g.Values)
	d.want(cli.ExitDone, "groups", "-c", "pipeline.yaml", "-o", "ndjson")
	expect.That(t, !strings.Contains(d.out.String(), "12 m"), "payload without --values: %s", &d.out)
	d.want(cli.ExitUsage, append(append([]string{}, d.alone()...), "groups", "--topic", "features.dlq", "--values")...)
}
