package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// C-4: payments that Spring Kafka gave up after an enum was renamed are rewritten and put back, while the replayer is killed again and
// again. The consumer that gave them up books each once, and its group says so.
func TestAnyDLQ_C4_springKafka(t *testing.T) {
	beside(t, testrun.Proof, needRealKafka)
	letters, kills, slowly := 400, 3, []string{"--rate", "200"} // else one transaction has all of them
	if testrun.IsNightly(t) {
		letters, kills, slowly = 23_000, 20, nil
	}
	p := newPipe(t, 10*time.Minute)
	j := example(t, "spring", springKafka)
	topic := p.set.ID + ".payments"
	spring := j.start(t, "payments.Payments", strings.Join(p.set.Brokers, ","), fmt.Sprint(letters), topic)
	eventually.Until(p.ctx, t, fmt.Sprintf("%d dead payments", letters), func() (bool, string) {
		n := written(p.ctx, t, p.log, topic+"-dlt")
		return n == letters, fmt.Sprintf("%d\n%s", n, spring.Stderr.Tail(500))
	})
	at := []string{"--brokers", strings.Join(p.set.Brokers, ","), "--topic", topic + "-dlt"}
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	plan := append([]string{"plan", "-f", file, "-o", "table", "--expr", `value.status = value.status == "OPEN" ? "PENDING" : value.status`}, at...)
	r := p.run("replayer", plan...)
	must.That(t, r.Code == 0 && strings.Contains(r.Stdout, `/status: "OPEN" -> "PENDING"`) && strings.Contains(r.Stderr, fmt.Sprintf("%s: %d", topic, letters)), "plan: %s", r)
	replay := append([]string{"replay", "--plan", file, "--execute", "--reason", "OPEN is PENDING now", "--create-topics", "--take-over"}, at...)
	p.killReplays(topic, letters, kills, slices.Concat(replay, slowly))
	r = p.run("replayer", append(replay, "--watch-group", topic, "--wait", "--grace", "2s", "-o", "table")...)
	must.That(t, r.Code == 0 && strings.Contains(r.Stdout, fmt.Sprintf("consumed       %d:", letters)), "the last replay: %s", r)
	p.wantEach(topic, letters, letters) // the first time each died
	p.wantEach(topic+"-booked", letters, 0)
	expect.Equal(t, written(p.ctx, t, p.log, topic+"-dlt"), letters, "dead letters")
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

// wantEach fails unless a topic has one record of each payment behind the first ones.
func (p *pipe) wantEach(topic string, letters, first int) {
	p.t.Helper()
	seen := map[string]int{}
	records := p.read(topic)
	for _, r := range records {
		if strings.Contains(string(r.Value), "PENDING") {
			seen[string(r.Key)]++
		}
	}
	for i := range letters {
		expect.Equal(p.t, seen[fmt.Sprint("p-", i)], 1, topic, "has p-", i, "times")
	}
	expect.That(p.t, len(records) == letters+first && len(seen) == letters, "%s has %d records of %d payments, want %d of %d", topic, len(records), len(seen), letters+first, letters)
}
