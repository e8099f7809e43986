package integration

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// earthquakes is the number of features that examples/producer publishes.
const earthquakes = 1707

// overlay has the commands of deploy/compose.yaml merged with deploy/compose.sink.yaml. The test runs them unchanged,
// as processes of this machine. Only addresses and ports differ.
type overlay struct {
	*pipe
	server   *postgis.Server
	services map[string]composeService
	id       string
}

type composeService struct {
	Command     []string
	Environment map[string]string
}

func readOverlay(t *testing.T, bound time.Duration) *overlay {
	t.Helper()
	server, err := postgis.Own(t.Context())
	postgis.OrSkip(t, err)
	t.Cleanup(func() { _ = server.Close() })
	o := &overlay{pipe: newPipe(t, bound), server: server, services: map[string]composeService{}, id: topiclog.Unique("features")}
	for _, name := range []string{"compose.yaml", "compose.sink.yaml"} {
		var file struct{ Services map[string]composeService }
		must.Do(t, yaml.Unmarshal([]byte(deployed(t, name)), &file))
		for service, s := range file.Services {
			both := o.services[service]
			if len(s.Command) > 0 {
				both.Command = s.Command
			}
			both.Environment = merged(both.Environment, s.Environment)
			o.services[service] = both
		}
	}
	return o
}

func merged(below, above map[string]string) map[string]string {
	out := maps.Clone(below)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, above)
	return out
}

func deployed(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "deploy", name)))(t)
	return string(text)
}

// spec returns the command of a service, for the program that the service's image would run.
func (o *overlay) spec(service, program string) proc.Spec {
	o.t.Helper()
	root := must.Get(filepath.Abs(filepath.Join("..", "deploy")))(o.t)
	host, port, err := net.SplitHostPort(o.server.Addr)
	must.Do(o.t, err)
	here := strings.NewReplacer("/etc/switchback/pipeline.yaml", root+"/config.compose.yaml", "/etc/switchback/table.sql", root+"/sink.sql", "@postgis:5432/", "@"+o.server.Addr+"/")
	s := proc.Spec{Path: program, Dir: o.t.TempDir(), Env: []string{
		"SWITCHBACK_KAFKA_BROKERS=" + strings.Join(o.environment.kafka.Addrs, ","), "SWITCHBACK_PIPELINE_ID=" + o.id, "SWITCHBACK_METRICS_LISTEN=127.0.0.1:0", "PGPORT=" + port,
	}}
	for _, arg := range o.services[service].Command {
		if arg == "postgis" {
			arg = host
		}
		s.Args = append(s.Args, here.Replace(arg))
	}
	for name, value := range o.services[service].Environment {
		s.Env = append(s.Env, name+"="+here.Replace(value))
	}
	return s
}

// documented matches the psql command in a comment of the compose file.
var documented = regexp.MustCompile(`(?m)^#   docker compose .* exec postgis (psql .*)$`)

// S0-6: a user who follows deploy/compose.sink.yaml word for word gets every feature of the example into the table,
// with heights and without dead letters. The test runs the commands of the file on a real Kafka and a real PostGIS.
func TestComposeOverlay_S0_6_fillsTheTable(t *testing.T) {
	parallel(t, testrun.Nightly, needRealKafka)
	o := readOverlay(t, 2*time.Minute)
	psql := must.Get(o.server.Program("psql"))(t)
	admin := connect(o.ctx, t, "postgres://switchback@"+o.server.Addr+"/postgres")
	if _, err := admin.Exec(o.ctx, "create database features"); err != nil { // the effect of POSTGRES_DB
		t.Fatal(err)
	}
	table := o.spec("table", psql)
	must.That(t, table.Args[0] == "psql", "the service table runs %v", table.Args)
	table.Args = table.Args[1:]
	o.succeed(table)
	o.succeed(o.spec("topics", o.environment.commands["consumer"]))
	producer := filepath.Join(t.TempDir(), "producer")
	o.succeed(proc.Spec{Path: "go", Args: []string{"build", "-o", producer, "../examples/producer"}})
	o.succeed(proc.Spec{Path: producer, Args: []string{"-brokers", o.environment.kafka.Addrs[0], "-topic", o.id}})
	var consumers []*proc.Process
	for _, name := range []string{"consumer-1", "consumer-2"} {
		consumers = append(consumers, proc.Start(t, o.spec(name, o.environment.commands["consumer"])))
	}
	db := connect(o.ctx, t, "postgres://switchback@"+o.server.Addr+"/features")
	eventually.Until(o.ctx, t, "every feature in the table", func() (bool, string) {
		n := count(o.ctx, t, db, "select count(*) from features")
		return n >= earthquakes, fmt.Sprint(n)
	})
	for _, c := range consumers {
		o.stop(c)
	}
	deadLetters := o.read(o.id + ".dlq")
	expect.That(t, len(deadLetters) == 0, "%d dead letters: %v", len(deadLetters), deadLetters)
	expect.Equal(t, count(o.ctx, t, db, "select count(*) from features where st_zmflag(geom) = 2 and st_srid(geom) = 4326"), earthquakes, "features with a depth")
	command := documented.FindStringSubmatch(deployed(t, "compose.sink.yaml"))
	must.That(t, command != nil, "deploy/compose.sink.yaml does not have the command that shows the table")
	host, port, _ := net.SplitHostPort(o.server.Addr)
	rows := o.succeed(proc.Spec{Path: "bash", Args: []string{"-c", command[1]}, Env: []string{"PGHOST=" + host, "PGPORT=" + port, "PATH=" + filepath.Dir(psql) + ":" + os.Getenv("PATH")}})
	n := strings.Count(rows, "POINT Z")
	expect.That(t, n == earthquakes, "%q shows %d features", command[1], n)
}

func count(ctx context.Context, t *testing.T, db *pgx.Conn, sql string) (n int) {
	t.Helper()
	must.Do(t, db.QueryRow(ctx, sql).Scan(&n))
	return n
}

// succeed runs a command and returns its output. The test fails if the command fails.
func (o *overlay) succeed(spec proc.Spec) string {
	o.t.Helper()
	r := proc.Run(o.ctx, o.t, spec)
	must.That(o.t, r.Code == 0, "%s %v: %s", spec.Path, spec.Args, r)
	return r.Stdout
}
