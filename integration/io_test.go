package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S3-3: a database whose disk fails (SQLSTATE 58030, from a real server): each record that meets it is tried once more, and
// then all instances hold.
func TestIOFailed_S3_3_ofADatabaseHoldsAfterOneRetry(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	dsn := postgis.Need(t).Database(t)
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(t.Context()) })
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := db.Exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("create table damaged (id text primary key)")
	exec(`create function place(wanted text) returns text language plpgsql as $$
		begin
			if exists (select from damaged where id = wanted) then
				raise exception 'could not read block 7 in file "base/1/2"' using errcode = '58030';
			end if;
			return 'place of ' || wanted;
		end $$`)
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte(dsn), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPipe(t, 2*time.Minute, killed, func(s *settings) {
		s.SQL = fmt.Sprintf(`{ dsn_file: %q, query: "select place($1) as name", args: [properties.id], timeout: 5s }`, file)
	}).ensure()
	p.blocks("io_failed", func(id string) { exec("insert into damaged values ($1)", id) }, func() { exec("truncate damaged") })
}

// S3-3: a rule puts another failure into the category io, here a service that is out of storage.
func TestIOFailed_S3_3_byARuleHoldsAfterOneRetry(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, killed, func(s *settings) { s.Rules = "[{status: 507, class: retry_backoff, category: io}]" }).ensure()
	var damaged []string
	p.blocks("http_server_error", func(id string) {
		damaged = append(damaged, id)
		p.places.Script(id, misbehave.Times(1000, misbehave.Status(507))...)
	}, func() {
		for _, id := range damaged {
			p.places.Script(id)
		}
	})
}

// blocks damages some records, and holds the pipeline to this: each is tried twice at the most, then everything is held, also
// over the death of all instances, and again after a resume that came too early. Once it is fixed and resumed, every record
// is delivered; none is a dead letter, and none has spent an attempt on being held.
func (p *pipe) blocks(code string, damage func(id string), fix func()) {
	t := p.t
	all := ids("b", 60)
	damaged := []string{all[7], all[31], all[55]}
	for _, id := range damaged {
		damage(id)
	}
	first := p.fleet("one", "two")
	p.send(all...)
	for _, i := range first {
		i.WaitFor(p.ctx, t, i.Stderr, regexp.MustCompile(`pipeline paused`)) // by itself, or as the other one ordered
	}
	p.wantBlocked(code)
	p.kill(first...)
	again := p.holding("one", "two")
	p.order("resume", "--reason", "too early")
	p.wantBlocked(code) // an instance that reads this resume and the next order at once says nothing of either
	fix()
	p.order("resume", "--reason", "fixed")
	p.finish(again...)
	wantTotals(t, p.verify(), len(all), conservation.Place{Output: len(all)})
	p.wantBlockedNoMore(damaged)
}

// wantBlocked waits until the control topic says that the pipeline is held, for a record's second attempt; nothing has died.
func (p *pipe) wantBlocked(code string) {
	p.t.Helper()
	var s pipelineStatus
	eventually.Until(p.ctx, p.t, "the order in the control topic", func() (bool, string) {
		s = p.state()
		return s.State.State == "held", fmt.Sprintf("%+v", s)
	})
	if s.State.Code != code || !strings.Contains(s.State.Reason, "attempt 2: ") {
		p.t.Errorf("status: %+v", s)
	}
	if letters := p.read(p.topics.DLQ); len(letters) != 0 {
		p.t.Errorf("%d dead letters while it is held", len(letters))
	}
}

// wantBlockedNoMore: each damaged record failed once before it was delivered, whatever happened while it was held.
func (p *pipe) wantBlockedNoMore(damaged []string) {
	p.t.Helper()
	if letters := p.read(p.topics.DLQ); len(letters) != 0 {
		p.t.Errorf("%d dead letters", len(letters))
	}
	for _, id := range damaged {
		var way []string
		for _, e := range p.audited(id) {
			way = append(way, e.Decision)
		}
		if !slices.Equal(way, []string{"retried", "delivered"}) && !slices.Equal(way, []string{"delivered"}) { // the other: it was behind the hold
			p.t.Errorf("%s was %v", id, way)
		}
	}
	for _, r := range p.read(p.topics.Output) {
		if n := value(r, "switchback-attempt"); n > "2" {
			p.t.Errorf("%s took %s attempts", r.Key, n)
		}
	}
}
