package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// tableFault is something that happens to the table or its user. WRITER is the user. internal/sink tests further faults; here the
// commands meet one that they detect before they start, and one that they do not.
type tableFault struct {
	name, fault, fix string
	starts           bool   // a consumer starts with it, and its records wait
	says             string // by the log, or by a consumer that does not start
	cuts             bool   // the sessions of before are ended
}

func tableFaults() []tableFault {
	return []tableFault{
		{name: "renamed", fault: "alter table places rename to archive", fix: "alter table archive rename to places", says: "places is not there"},
		{name: "nologin", fault: "alter role WRITER nologin", fix: "alter role WRITER login", starts: true, says: "not permitted to log in", cuts: true},
	}
}

// owned is a table whose pipeline logs in with a user and a password of its own, on a server of the test's own.
type owned struct {
	*table
	role, file string
}

// withOwner makes it.
func withOwner(t *testing.T, bound time.Duration) *owned {
	t.Helper()
	server, err := postgis.Own(t.Context())
	postgis.OrSkip(t, err)
	t.Cleanup(func() { _ = server.Close() })
	tab := withTable(t, server, bound)
	o := &owned{table: tab, role: "writer", file: filepath.Join(filepath.Dir(tab.p.file), "login")}
	o.sql("create role writer login password 'first'; grant select, insert, update, delete on places, places_switchback to writer")
	var hba string
	if err := tab.db.QueryRow(tab.p.ctx, "select setting from pg_settings where name = 'hba_file'").Scan(&hba); err != nil {
		t.Fatal(err)
	}
	o.sql("copy (values ('host all writer 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')) to '" + hba + "'; select pg_reload_conf()")
	o.login("first")
	text, err := os.ReadFile(tab.p.file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "dsn_file: ")
	_, after, _ := strings.Cut(rest, ",")
	if err := os.WriteFile(tab.p.file, fmt.Appendf(nil, "%sdsn_file: %q,%s", before, o.file, after), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *owned) sql(text string) {
	o.p.t.Helper()
	if _, err := o.db.Exec(o.p.ctx, strings.ReplaceAll(text, "WRITER", o.role)); err != nil {
		o.p.t.Fatalf("%s: %v", text, err)
	}
}

// login writes the connection string with another password.
func (o *owned) login(password string) {
	o.p.t.Helper()
	at := o.db.Config()
	text := fmt.Sprintf("user=%s password=%s host=%s port=%d dbname=%s", o.role, password, at.Host, at.Port, at.Database)
	if err := os.WriteFile(o.file, []byte(text), 0o600); err != nil {
		o.p.t.Fatal(err)
	}
}

// cut ends the sessions of the pipeline's user.
func (o *owned) cut() {
	o.p.t.Helper()
	o.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'WRITER'")
}

// untouched waits until records wait, and then for some probes, and proves that none became a dead letter.
func (o *owned) untouched() {
	o.p.t.Helper()
	o.p.untilLag()
	began := time.Now()
	eventually.Until(o.p.ctx, o.p.t, "some probes", func() (bool, string) { return time.Since(began) > 3*time.Second, time.Since(began).String() })
	if letters := o.p.read(o.p.topics.DLQ); len(letters) > 0 {
		o.p.t.Fatalf("%d dead letters: %s", len(letters), value(letters[0], header.KeyErrorMessage))
	}
}

func (p *pipe) untilLag() {
	p.t.Helper()
	eventually.Until(p.ctx, p.t, "records that wait", func() (bool, string) {
		lag := p.state().Lag
		return lag > 0, fmt.Sprint("lag ", lag)
	})
}

// S3-5, S4-3: what happens to the table, the login, the privileges and the disk while a consumer runs pauses it. No record becomes a
// dead letter or spends an attempt, and all are written once it is fixed, without anybody's help.
func TestSinkFaults_S3_5_S4_3_whileItRuns(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	o := withOwner(t, 5*time.Minute)
	p, n := o.p, 0
	consumer := p.start("one")
	output := p.log.Tail(t, p.topics.Output)
	send := func(name string) {
		p.send(ids(strings.ReplaceAll(name, " ", "-"), 40)...)
		n += 40
	}
	for _, f := range tableFaults() {
		send(f.name + "-before")
		output.UntilCount(p.ctx, t, f.name+": before", n)
		o.sql(f.fault)
		if f.cuts {
			o.cut()
		}
		send(f.name)
		o.untouched()
		if got := len(output.Seen()); got > n-40 {
			t.Errorf("%s: %d of 40 records passed", f.name, got-(n-40))
		}
		o.sql(f.fix)
		output.UntilCount(p.ctx, t, f.name+": after", n)
	}
	send("password-before")
	output.UntilCount(p.ctx, t, "before the password", n)
	o.sql("alter role WRITER password 'second'")
	o.cut()
	send("password")
	o.untouched()
	o.login("second")
	output.UntilCount(p.ctx, t, "after the password", n)
	said := p.stop(consumer).Stderr
	for _, f := range append(tableFaults(), tableFault{name: "password", says: "28P01"}) {
		if !strings.Contains(said, f.says) {
			t.Errorf("%s: the log does not say %q", f.name, f.says)
		}
	}
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
	for _, r := range p.read(p.topics.Output) {
		if spent := failedAttempts(t, r); spent > 0 && !strings.HasPrefix(string(r.Key), "nologin") && !strings.HasPrefix(string(r.Key), "password") {
			t.Errorf("%s spent %d attempts", r.Key, spent)
		}
	}
	o.verify()
}

// S3-5, S4-3: a consumer that starts while the table is out of order either says what to do and takes no record, or waits.
func TestSinkFaults_S3_5_S4_3_atTheStart(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	o := withOwner(t, 5*time.Minute)
	p, n := o.p, 0
	for _, f := range append(tableFaults(), tableFault{name: "password", fault: "alter role WRITER password 'second'", fix: "alter role WRITER password 'first'", starts: true, says: "28P01"}) {
		o.sql(f.fault)
		p.send(ids(strings.ReplaceAll(f.name, " ", "-"), 20)...)
		n += 20
		if f.starts {
			consumer := p.start("one")
			o.untouched()
			o.sql(f.fix)
			p.log.Tail(t, p.topics.Output).UntilCount(p.ctx, t, f.name+": after", n)
			if said := p.stop(consumer).Stderr; !strings.Contains(said, f.says) {
				t.Errorf("%s: the log does not say %q: %s", f.name, f.says, said)
			}
			continue
		}
		r := p.run("consumer", "run", "-c", p.file, "--until-end")
		if says := strings.ReplaceAll(f.says, `\`, ""); r.Code == 0 || !strings.Contains(r.Stderr, says) {
			t.Errorf("%s: exit code %d, %s", f.name, r.Code, r.Stderr)
		}
		o.sql(f.fix)
		p.drain()
	}
	wantTotals(t, p.verify(), n, conservation.Place{Output: n})
	o.verify()
}
