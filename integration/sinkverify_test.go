package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// compared is what `consumer verify table -o json` prints.
type compared struct {
	Verdict  string
	Rows     int
	Keys     int
	Found    map[string]int
	Repaired int
	Findings []struct{ Kind, Key, Output, Source, Guard string }
	Notes    []string
}

// compare runs the command, which must end with the code.
func (tab *table) compare(code int, args ...string) (c compared) {
	tab.p.t.Helper()
	r := tab.p.run("consumer", append([]string{"verify", "table", "-c", tab.p.file, "-o", "json"}, args...)...)
	if r.Code != code {
		tab.p.t.Fatalf("exit code %d, want %d: %s", r.Code, code, r)
	}
	if err := json.Unmarshal([]byte(r.Stdout), &c); err != nil {
		tab.p.t.Fatalf("%v: %s", err, r)
	}
	return c
}

func (tab *table) sql(text string) {
	tab.p.t.Helper()
	if _, err := tab.db.Exec(tab.p.ctx, text); err != nil {
		tab.p.t.Fatalf("%s: %v", text, err)
	}
}

// S0-6: everything that can be wrong with a table is found, named with its positions, and repaired; what is newer than the topic stays.
func TestSinkVerify_S0_6(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	server := postgis.Need(t)
	for _, rule := range []string{"record_key", "feature_id"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			tab := withTable(t, server, 2*time.Minute, func(s *settings) { s.SinkKey = rule })
			p := tab.p
			all := ids("v", 40)
			p.send(all...)
			p.sendRecords(&kgo.Record{Topic: p.topics.Source, Key: []byte(all[0])})
			p.drain()
			if c := tab.compare(0); c.Verdict != "proven" || c.Rows != 39 || c.Keys != 40 || len(c.Found) > 0 {
				t.Fatalf("%+v", c)
			}
			tab.sql("delete from places where id in ('v-1', 'v-2')")
			tab.sql("delete from places_switchback where key = 'v-3'")
			tab.sql("update places set level = 99 where id = 'v-4'")
			tab.sql("update places set geom = st_translate(geom, 0, 0.0001) where id = 'v-5'")
			tab.sql("update places_switchback set content_hash = 'sha256:00', source_offset = -1, source = regexp_replace(source, '[0-9]+$', '0') where key = 'v-6'; update places set level = 1 where id = 'v-6'")
			tab.sql("insert into places select 'nobody', geom, level, place_name from places where id = 'v-7'; insert into places select 'v-0', geom, level, place_name from places where id = 'v-7'")
			tab.sql("update places_switchback set content_hash = 'sha256:00', source_offset = source_offset + 1000, source = regexp_replace(source, '[0-9]+$', '100000') where key = 'v-8'; update places set level = 77 where id = 'v-8'")
			want := map[string]int{"missing": 3, "changed": 2, "stale": 1, "extra": 2, "ahead": 1}
			c := tab.compare(4)
			must.That(t, c.Verdict == "violated" && maps.Equal(c.Found, want) && c.Repaired == 0, "%+v, want %v", c, want)
			for _, f := range c.Findings {
				expect.That(t, f.Kind == "extra" || strings.HasPrefix(f.Output, p.topics.Output+"/") && strings.HasPrefix(f.Source, p.topics.Source+"/"), "%+v names no positions", f)
			}
			if c := tab.compare(0, "--repair"); !maps.Equal(c.Found, want) || c.Repaired != 8 {
				t.Errorf("the repair: %+v", c)
			}
			if c := tab.compare(0); c.Verdict != "unknown" || !maps.Equal(c.Found, map[string]int{"ahead": 1}) {
				t.Errorf("after the repair: %+v", c)
			}
			if got := tab.rows()["v-8"].Level; got != 77 {
				t.Errorf("an older version was written over a newer one: level %d", got)
			}
			tab.sql("update places set level = 3 where id = 'v-8'")
			tab.verify()
		})
	}
}

// S0-6: the comparison gives no false alarm, and a repair no harm, while consumers write.
func TestSinkVerify_S0_6_whileThePipelineRuns(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	tab := withTable(t, postgis.Need(t), 2*time.Minute)
	p := tab.p
	const n, levels = 60, 5
	consumer := p.start("one")
	output := p.log.Tail(t, p.topics.Output)
	for level := range levels {
		var records []*kgo.Record
		for _, id := range ids("r", n) {
			records = append(records, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, level))})
		}
		p.sendRecords(records...)
		if c := tab.compare(0, "--repair"); c.Repaired != 0 {
			t.Errorf("level %d: %+v", level, c)
		}
	}
	output.UntilCount(p.ctx, t, "outputs", n)
	eventually.Until(p.ctx, t, "no lag", func() (bool, string) { lag := p.state().Lag; return lag == 0, fmt.Sprint(lag) })
	p.stop(consumer)
	if c := tab.compare(0); c.Verdict != "proven" {
		t.Errorf("at the end: %+v", c)
	}
	tab.verify()
}
