package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/jars"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// example compiles a program of examples/any-dlq against the jars that its POM lists.
func example(t *testing.T, name, version string) java {
	t.Helper()
	dir := filepath.Join("..", "examples", "any-dlq", name)
	pom := must.Get(os.ReadFile(filepath.Join(dir, "pom.xml")))(t)
	must.That(t, strings.Contains(string(pom), "<version>"+version+"<"), "%s/pom.xml does not hold version %s", dir, version)
	libs, err := jars.Set{Name: "example-" + name + "-" + version, POM: pom}.Fetch(t.Context(), broker.Forced())
	must.That(t, err == nil, "the libraries of the example %s: %v", name, err)
	j := java{classes: t.TempDir(), libs: filepath.Join(libs, "*")}
	if j.bin, err = exec.LookPath("java"); err != nil {
		t.Fatal(err)
	}
	j.compileAll(t, filepath.Join(dir, "src", "main", "java", "*", "*.java"))
	return j
}

// renamed rewrites payments of a producer that still says OPEN.
var renamed = []string{"--expr", `value.status = value.status == "OPEN" ? "PENDING" : value.status`}

// C-4: payments that Spring Kafka gave up after an enum was renamed are rewritten and put back, while the replayer is killed again and
// again. The consumer that gave them up books each once, and its group says so.
func TestAnyDLQ_C4_springKafka(t *testing.T) {
	beside(t, testrun.Proof, needRealKafka)
	letters, kills, slowly := 400, 3, []string{"--rate", "200"} // else one transaction has all of them
	if testrun.IsNightly(t) {
		letters, kills, slowly = 23_000, 20, nil
	}
	p := newPipe(t, 10*time.Minute)
	p.proveExample(runnable{start: example(t, "spring", springKafka).payments, dlq: "-dlt", change: renamed, shows: `/status: "OPEN" -> "PENDING"`}, letters, kills, slowly)
}

// C-4: what Kafka Connect, Kafka Streams and watermill gave up goes back by the same commands, and each books it once.
func TestAnyDLQ_C4_otherLibraries(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
	goes := watermill(t)
	for name, ex := range map[string]runnable{
		"connect":   {start: example(t, "connect", foreignKafka).payments, dlq: "-dlq", group: "connect-", change: []string{"--filter", `sed 's/,}$/}/'`}},
		"streams":   {start: example(t, "streams", foreignKafka).payments, dlq: "-dlq", change: renamed, shows: `/status: "OPEN" -> "PENDING"`},
		"watermill": {start: goes, dlq: "-poison", change: renamed, shows: `/status: "OPEN" -> "PENDING"`},
		"directory": {start: goes, dlq: "-poison", change: renamed, shows: `/status: "OPEN" -> "PENDING"`, state: []string{"--state-dir", filepath.Join(t.TempDir(), "state")}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPipe(t, 5*time.Minute)
			p.proveExample(ex, 400, 3, []string{"--rate", "200"})
		})
	}
}

// runnable is an example of examples/any-dlq.
type runnable struct {
	start  func(t *testing.T, args ...string) *proc.Process // with brokers, how many payments to send, and the topic
	dlq    string                                           // the name of its DLQ behind the topic's
	group  string                                           // the name of its consumer group before the topic's
	change []string                                         // flags that mend a payment
	state  []string                                         // flags that keep states elsewhere than in topics
	shows  string                                           // what the dry run says of the change
}

// payments starts the program of an example.
func (j java) payments(t *testing.T, args ...string) *proc.Process {
	return j.start(t, "payments.Payments", args...)
}

// watermill builds the example that has a module of its own.
func watermill(t *testing.T) func(t *testing.T, args ...string) *proc.Process {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "payments")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "examples", "any-dlq", "watermill")
	out, err := build.CombinedOutput()
	must.That(t, err == nil, "go build: %v\n%s", err, out)
	return func(t *testing.T, args ...string) *proc.Process {
		return proc.Start(t, proc.Spec{Path: binary, Args: args, Dir: t.TempDir()})
	}
}

// proveExample puts back what an example gave up, while the replayer is killed, and fails unless it books each once.
func (p *pipe) proveExample(ex runnable, letters, kills int, slowly []string) {
	p.t.Helper()
	topic := p.set.ID + ".payments"
	consumer := ex.start(p.t, strings.Join(p.set.Brokers, ","), fmt.Sprint(letters), topic)
	eventually.Until(p.ctx, p.t, fmt.Sprintf("%d dead payments", letters), func() (bool, string) {
		n := written(p.ctx, p.t, p.log, topic+ex.dlq)
		return n == letters, fmt.Sprintf("%d\n%s", n, consumer.Stderr.Tail(500))
	})
	at := []string{"--brokers", strings.Join(p.set.Brokers, ","), "--topic", topic + ex.dlq}
	at = append(at, ex.state...)
	file := filepath.Join(p.t.TempDir(), "plan.jsonl")
	plan := slices.Concat([]string{"plan", "-f", file, "-o", "table"}, ex.change, at)
	r := p.run("replayer", plan...)
	must.That(p.t, r.Code == 0 && strings.Contains(r.Stdout, ex.shows) && strings.Contains(r.Stderr, fmt.Sprintf("%s: %d", topic, letters)), "plan: %s", r)
	replay := append([]string{"replay", "--plan", file, "--execute", "--reason", "mended", "--create-topics", "--take-over"}, at...)
	if ex.change[0] == "--filter" {
		replay = append(replay, ex.change...)
	}
	p.killReplays(topic, letters, kills, slices.Concat(replay, slowly))
	r = p.run("replayer", append(replay, "--watch-group", ex.group+topic, "--grace", "2s", "-o", "table")...)
	must.That(p.t, r.Code == 0 && strings.Contains(r.Stdout, fmt.Sprintf("consumed       %d:", letters)), "the last replay: %s", r)
	p.wantEach(topic, `"PENDING"}`, letters, letters) // the first time each died
	p.wantEach(topic+"-booked", "PENDING", letters, 0)
	expect.Equal(p.t, written(p.ctx, p.t, p.log, topic+ex.dlq), letters, "dead letters")
}

// written counts the records of a topic.
func written(ctx context.Context, t *testing.T, log *topiclog.Cluster, topic string) int {
	t.Helper()
	records := must.Get(log.Read(ctx, topic))(t)
	return len(records)
}

// killReplays starts a replay into a topic again and again, and kills it when it has written some records, committed or not.
func (p *pipe) killReplays(topic string, letters, kills int, replay []string) {
	p.t.Helper()
	random := rand.New(rand.NewPCG(testrun.Seed(p.t), 0))
	uncommitted := p.log.TailUncommitted(p.t, topic)
	eventually.Until(p.ctx, p.t, "the records that were there before", func() (bool, string) {
		return len(uncommitted.Seen()) >= letters, fmt.Sprint(len(uncommitted.Seen()))
	})
	hit := 0
	for range kills {
		before, more := len(uncommitted.Seen()), 1+random.IntN(letters/kills)
		replayer := proc.Start(p.t, p.spec("replayer", replay...))
		eventually.Until(p.ctx, p.t, fmt.Sprintf("%d records that were put back", more), func() (bool, string) {
			select {
			case <-replayer.Done(): // nothing was left
				return true, ""
			default:
			}
			n := len(uncommitted.Seen()) - before
			return n >= more, fmt.Sprint(n)
		})
		if replayer.Kill() {
			hit++
		}
	}
	p.t.Logf("%d of %d kills met a running replayer, with %d records in %s, committed or not", hit, kills, len(uncommitted.Seen()), topic)
	expect.That(p.t, hit != 0, "none of %d kills met a running replayer", kills)
}

// paymentID is how a payment is called, in its key or its value.
var paymentID = regexp.MustCompile(`p-[0-9]+`)

// wantEach fails unless a topic has one record of each payment behind the first ones, by a part of its value.
func (p *pipe) wantEach(topic, part string, letters, first int) {
	p.t.Helper()
	seen := map[string]int{}
	records := p.read(topic)
	for _, r := range records {
		if strings.Contains(string(r.Value), part) {
			seen[paymentID.FindString(string(r.Key)+" "+string(r.Value))]++
		}
	}
	for i := range letters {
		expect.Equal(p.t, seen[fmt.Sprint("p-", i)], 1, topic, "has p-", i, "times")
	}
	expect.That(p.t, len(records) == letters+first && len(seen) == letters, "%s has %d records of %d payments, want %d of %d", topic, len(records), len(seen), letters+first, letters)
}
