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

// example compiles a program of examples/any-dlq against the libraries in its POM.
func example(t *testing.T, name, version string) java {
	t.Helper()
	dir := filepath.Join("..", "examples", "any-dlq", name)
	pom := must.Get(os.ReadFile(filepath.Join(dir, "pom.xml")))(t)
	must.That(t, strings.Contains(string(pom), "<version>"+version+"<"), "%s/pom.xml does not contain version %s", dir, version)
	libs, err := jars.Set{Name: "example-" + name + "-" + version, POM: pom}.Fetch(t.Context(), broker.Forced())
	must.That(t, err == nil, "the libraries of the example %s: %v", name, err)
	j := java{classes: t.TempDir(), libs: filepath.Join(libs, "*")}
	if j.bin, err = exec.LookPath("java"); err != nil {
		t.Fatal(err)
	}
	j.compileAll(t, filepath.Join(dir, "src", "main", "java", "*", "*.java"))
	return j
}

// openToPending rewrites payments of a producer that still uses the status OPEN.
var openToPending = []string{"--expr", `value.status = value.status == "OPEN" ? "PENDING" : value.status`}

// C-4: an enum value was renamed, and Spring Kafka dead-lettered the payments. They are rewritten and reinjected while
// the replayer is killed repeatedly. The consumer books each payment once, and its group has consumed them all.
func TestAnyDLQ_C4_springKafka(t *testing.T) {
	parallel(t, testrun.Proof, needRealKafka)
	deadLetters, kills, rateFlags := 400, 3, []string{"--rate", "200"} // without a rate, one transaction would contain all of them
	if testrun.IsNightly(t) {
		deadLetters, kills, rateFlags = 23_000, 20, nil
	}
	p := newPipe(t, 10*time.Minute)
	p.testExample(exampleProgram{start: example(t, "spring", springKafka).payments, dlq: "-dlt", change: openToPending, planned: `/status: "OPEN" -> "PENDING"`}, deadLetters, kills, rateFlags)
}

// C-4: the same commands reinject the dead letters of Kafka Connect, Kafka Streams and watermill. Each consumer books
// each payment once.
func TestAnyDLQ_C4_otherLibraries(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
	goes := watermill(t)
	for name, ex := range map[string]exampleProgram{
		"connect":   {start: example(t, "connect", foreignKafka).payments, dlq: "-dlq", group: "connect-", change: []string{"--filter", `sed 's/,}$/}/'`}},
		"streams":   {start: example(t, "streams", foreignKafka).payments, dlq: "-dlq", change: openToPending, planned: `/status: "OPEN" -> "PENDING"`},
		"watermill": {start: goes, dlq: "-poison", change: openToPending, planned: `/status: "OPEN" -> "PENDING"`},
		"directory": {start: goes, dlq: "-poison", change: openToPending, planned: `/status: "OPEN" -> "PENDING"`, state: []string{"--state-dir", filepath.Join(t.TempDir(), "state")}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPipe(t, 5*time.Minute)
			p.testExample(ex, 400, 3, []string{"--rate", "200"})
		})
	}
}

// exampleProgram is a program of examples/any-dlq.
type exampleProgram struct {
	start   func(t *testing.T, args ...string) *proc.Process // args: brokers, number of payments to send, topic
	dlq     string                                           // suffix of its DLQ's name
	group   string                                           // prefix of its consumer group's name
	change  []string                                         // flags that correct a payment
	state   []string                                         // flags that store states outside of topics
	planned string                                           // the description of the change in the dry run
}

// payments starts the example's program.
func (j java) payments(t *testing.T, args ...string) *proc.Process {
	return j.start(t, "payments.Payments", args...)
}

// watermill builds the example that has its own Go module.
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

// testExample reinjects the dead letters of an example while the replayer is killed repeatedly, and checks that the
// example books each payment once.
func (p *pipe) testExample(ex exampleProgram, deadLetters, kills int, rateFlags []string) {
	p.t.Helper()
	topic := p.set.ID + ".payments"
	consumer := ex.start(p.t, strings.Join(p.set.Brokers, ","), fmt.Sprint(deadLetters), topic)
	eventually.Until(p.ctx, p.t, fmt.Sprintf("%d dead payments", deadLetters), func() (bool, string) {
		n := countRecords(p.ctx, p.t, p.log, topic+ex.dlq)
		return n == deadLetters, fmt.Sprintf("%d\n%s", n, consumer.Stderr.Tail(500))
	})
	dlqFlags := []string{"--brokers", strings.Join(p.set.Brokers, ","), "--topic", topic + ex.dlq}
	dlqFlags = append(dlqFlags, ex.state...)
	file := filepath.Join(p.t.TempDir(), "plan.jsonl")
	plan := slices.Concat([]string{"plan", "-f", file, "-o", "table"}, ex.change, dlqFlags)
	r := p.run("replayer", plan...)
	must.That(p.t, r.Code == 0 && strings.Contains(r.Stdout, ex.planned) && strings.Contains(r.Stderr, fmt.Sprintf("%s: %d", topic, deadLetters)), "plan: %s", r)
	replay := append([]string{"replay", "--plan", file, "--execute", "--reason", "mended", "--create-topics", "--take-over"}, dlqFlags...)
	if ex.change[0] == "--filter" {
		replay = append(replay, ex.change...)
	}
	p.killReplays(topic, deadLetters, kills, slices.Concat(replay, rateFlags))
	r = p.run("replayer", append(replay, "--watch-group", ex.group+topic, "--grace", "2s", "-o", "table")...)
	must.That(p.t, r.Code == 0 && strings.Contains(r.Stdout, fmt.Sprintf("consumed       %d:", deadLetters)), "the last replay: %s", r)
	p.wantOneEach(topic, `"PENDING"}`, deadLetters, deadLetters) // every payment failed once before
	p.wantOneEach(topic+"-booked", "PENDING", deadLetters, 0)
	expect.Equal(p.t, countRecords(p.ctx, p.t, p.log, topic+ex.dlq), deadLetters, "dead letters")
}

// countRecords returns the number of records of a topic.
func countRecords(ctx context.Context, t *testing.T, log *topiclog.Cluster, topic string) int {
	t.Helper()
	records := must.Get(log.Read(ctx, topic))(t)
	return len(records)
}

// killReplays starts a replay into a topic repeatedly, and kills it after it produced some records, committed or not.
func (p *pipe) killReplays(topic string, deadLetters, kills int, replay []string) {
	p.t.Helper()
	random := rand.New(rand.NewPCG(testrun.Seed(p.t), 0))
	hit, payments := 0, p.tailExisting(topic)
	for range kills {
		if p.killAfterWrites(payments, 1+random.IntN(deadLetters/kills), replay...) {
			hit++
		}
	}
	p.t.Logf("%d of %d kills hit a running replayer", hit, kills)
	expect.That(p.t, hit != 0, "none of %d kills hit a running replayer", kills)
}

// paymentID matches the ID of a payment, in its key or its value.
var paymentID = regexp.MustCompile(`p-[0-9]+`)

// wantOneEach checks that the topic has one record with this part in its value for each payment, in addition to the
// first ones.
func (p *pipe) wantOneEach(topic, part string, deadLetters, first int) {
	p.t.Helper()
	seen := map[string]int{}
	records := p.read(topic)
	for _, r := range records {
		if strings.Contains(string(r.Value), part) {
			seen[paymentID.FindString(string(r.Key)+" "+string(r.Value))]++
		}
	}
	for i := range deadLetters {
		expect.Equal(p.t, seen[fmt.Sprint("p-", i)], 1, topic, "records of p-", i)
	}
	expect.That(p.t, len(records) == deadLetters+first && len(seen) == deadLetters, "%s has %d records of %d payments, want %d of %d", topic, len(records), len(seen), deadLetters+first, deadLetters)
}
