package dlqindex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
)

// The driver applies settings in an order of its own, and the page size counts only before the first page is written.
func TestOpen_a_file_is_its_owners_alone_and_has_large_pages(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "deep", "letters.sqlite")
	s := must.Get(Open(t.Context(), file))(t)
	defer s.Close()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for pragma, want := range map[string]string{"page_size": "16384", "journal_mode": "wal"} {
		var got string
		err := s.row(t.Context(), "PRAGMA "+pragma).Scan(&got)
		expect.That(t, err == nil && got == want, "%s is %s, want %s (%v)", pragma, got, want, err)
	}
	if s.Engine() != SQLite || s.Place() != file {
		t.Errorf("%s at %s", s.Engine(), s.Place())
	}
}

func TestOpen_errors_say_where_and_hide_the_password(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(blocked, []byte("not a database, and long enough to be taken for one"), 0o600))
	for place, says := range map[string]string{
		filepath.Join(blocked, "x.sqlite"):                "--index FILE",
		blocked:                                           "not a database",
		"postgres://ana:secret@127.0.0.1:1/x":             "127.0.0.1:1",
		"postgres://ana:secret@host:port:port/x?=":        "postgres://",
		"postgresql://ana:secret@127.0.0.1:1/x?sslmode=q": "postgres://user:password@host:port/database",
	} {
		_, err := Open(t.Context(), place)
		expect.That(t, err != nil && strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "secret"), "%s: %v", place, err)
	}
}

func TestOpen_tables_of_another_version_are_made_anew(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "a", nil))
		w.sync()
		must.Do(t, w.store.inTx(t.Context(), func(tx *tx) error { return tx.exec("UPDATE @dead_letter_schema SET version = 99") }))
		w.store = w.open(place)
		told := ""
		done, err := w.store.Sync(t.Context(), w.cl, source, func(p Progress) { told = p.Anew })
		expect.That(t, err == nil && done.Letters == 1 && strings.Contains(done.Anew, "version 99") && told == done.Anew, "%+v, told %q, %v", done, told, err)
		w.sound()
	})
}

func TestOpen_leaves_a_table_of_others_alone(t *testing.T) {
	t.Parallel()
	postgis.OrSkip(t, noServer)
	place := server.Database(t)
	s := &Store{engine: PostgreSQL}
	must.Do(t, s.openPostgres(place))
	defer s.Close()
	for _, statement := range []string{"CREATE SCHEMA pipeline", "CREATE TABLE pipeline.dead_letter_queue (id BIGSERIAL PRIMARY KEY)"} {
		must.Get(s.db.ExecContext(t.Context(), statement))(t)
	}
	_, err := Open(t.Context(), place)
	expect.That(t, err != nil && strings.Contains(err.Error(), "did not make"), "got %v", err)
}

// raw_record takes any bytes: JSON stays as it is, the rest is wrapped.
func FuzzRawRecord(f *testing.F) {
	for _, seed := range []string{"", `{"a": 1.0, "a":2}`, "text", "\xff\xfe", `"\u0000"`, "\x00", strings.Repeat("[", 600) + strings.Repeat("]", 600)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		raw, _ := rawRecord(value)
		expect.That(t, json.Valid([]byte(raw)) && utf8.ValidString(raw) && !strings.Contains(raw, zeroByte), "%q gives %q", value, raw)
		if depth([]byte(raw)) > maxDepth {
			t.Errorf("%q is nested %d deep", raw, depth([]byte(raw)))
		}
		if json.Valid(value) && utf8.Valid(value) && depth(value) <= maxDepth && raw != string(value) {
			t.Errorf("%q is JSON and was changed to %q", value, raw)
		}
	})
}

// Who may not look at the status topic of a DLQ without a pipeline sees all dead letters as pending, and is told.
func TestIndex_S4_6_aStatusTopicThatMayNotBeLookedAtIsADoubt(t *testing.T) {
	t.Parallel()
	const status = "payments.DLT.replayer-status"
	broker := fakekafka.Start(t, kfake.SeedTopics(1, "payments.DLT", status))
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: "payments.DLT", Brokers: broker.ListenAddrs()}, nil, nil))(t)
	for _, denied := range []bool{false, true} {
		if denied {
			broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: status, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}
		var doubts []string
		x := must.Get(OpenIndex(t.Context(), fakekafka.Client(t, broker), cfg, Options{Alone: true, Place: InMemory, Doubt: func(why string) { doubts = append(doubts, why) }}))(t)
		_, err := x.Fresh(t.Context())
		expect.That(t, err == nil, "%v", err)
		said := strings.Join(doubts, "\n")
		expect.That(t, denied == strings.Contains(said, status) && len(doubts) <= 1, "denied %v: %q", denied, said)
		err = x.Close()
		expect.That(t, err == nil, "%v", err)
	}
}
