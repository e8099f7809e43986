package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// atOnce is how many rows of the matrix run side by side: each waits for the broker and for pauses most of its time.
const atOnce = 10

// S4-15: on a broker with ACLs, each command works with exactly what the commands print for it, and each permission that they print is
// needed: the matrix takes it away, at the start and while the command runs, looks at what that does, and gives it back. The rows are
// those of the table in internal/acls.
func TestPermissions_S4_15(t *testing.T) {
	beside(t, testrun.Proof)
	kafka := guardedKafka(t)
	var rows []row
	if testrun.IsNightly(t) {
		rows = append(rows, dutyRows()...)
		rows = append(rows, replayerRows(t, kafka)...)
		rows = append(rows, runRows(t, kafka)...)
	} else {
		rows = []row{{"consumer/topics", testTopicsDuty}, {"run/all are enough", func(t *testing.T, kafka *guarded) { testRun(t, kafka, -1) }}, {"replayer/any DLQ", testAnyDLQ}}
	}
	next := make(chan row)
	go func() {
		defer close(next)
		for _, r := range rows {
			next <- r
		}
	}()
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for r := range next {
				t.Run(r.name, func(t *testing.T) { r.test(t, kafka) })
			}
		})
	}
	wg.Wait()
}

// row is one test of the matrix.
type row struct {
	name string
	test func(*testing.T, *guarded)
}

// tableOf gives the permissions of a role as the table has them. The names of the rows are those of a pipeline "it".
func tableOf(t *testing.T, kafka *guarded, role acls.Role) (all []permission, names []string) {
	t.Helper()
	w := prepareWard(t, kafka).confine()
	all = w.printed(role)
	for _, p := range all {
		name := strings.TrimPrefix(strings.Replace(p.grant.Name, w.set.ID, "ID", 1), "switchback-")
		names = append(names, string(role)+"/"+string(p.op)+" "+string(p.grant.Resource)+" "+name)
	}
	return all, names
}

// denial matches an error that names the principal, the operation and the resource. Where Describe was lost with an operation that
// implies it, the cluster refuses that first.
func (w *ward) denial(p permission) *regexp.Regexp {
	name := regexp.QuoteMeta(p.grant.Name)
	if p.grant.Pattern == acls.Prefixed {
		name += `[^ :]*`
	}
	resource := map[acls.Resource]string{acls.Topic: "topic", acls.Group: "group", acls.TransactionalID: "transactional id"}[p.grant.Resource]
	operation := string(p.op)
	if p.op != acls.DescribeConfigs && p.op != acls.Create {
		operation = "(" + operation + "|Describe)"
	}
	return regexp.MustCompile(regexp.QuoteMeta(w.principal()) + " may not " + operation + " " + resource + " " + name + ":")
}

// wantDenial waits until the consumer has named the permission, in its log or its readiness.
func (d *deprived) wantDenial() {
	d.t.Helper()
	wanted := d.denial(d.perm)
	eventually.Until(d.ctx, d.t, "words that match "+wanted.String(), func() (bool, string) {
		log := d.process.Stderr.String()
		if found := served.FindStringSubmatch(log); found != nil && d.address == "" {
			if err := json.Unmarshal([]byte(found[1]), &d.address); err != nil {
				return false, err.Error()
			}
		}
		log = log[d.said:]
		if d.address != "" {
			_, body := d.get(d.address, "/readyz")
			log += body
		}
		return wanted.MatchString(log), log
	})
}

// testAnyDLQ replays the DLQ of other software with exactly what is printed for it. Each permission is needed: without it a replay is refused
// with its name, and puts nothing back.
func testAnyDLQ(t *testing.T, kafka *guarded) {
	w := prepareWard(t, kafka)
	target := w.set.ID + ".payments"
	dlq := target + ".DLT"
	for topic, cleanup := range map[string]string{target: "compact", dlq: "delete"} {
		must.Do(t, w.log.Create(w.ctx, topic, 1, map[string]string{"cleanup.policy": cleanup}))
	}
	const n = 40
	for i := range n {
		w.sendRecords(&kgo.Record{Topic: dlq, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"n":%d}`, i), Headers: []kgo.RecordHeader{
			{Key: "kafka_dlt-original-topic", Value: []byte(target)}, {Key: "kafka_dlt-exception-fqcn", Value: []byte("java.lang.IllegalStateException")},
		}})
	}
	at := w.profile(dlq)
	replayer := func(command string, args ...string) (code int, said string) {
		r := w.run("replayer", append(append([]string{command}, at...), args...)...)
		return r.Code, r.String()
	}
	role := func(role acls.Role) []permission {
		return w.permissions(w.run("replayer", append(append([]string{"acls"}, at...), "--principal", w.principal(), "--target", target, "--for", string(role), "-o", "json")...))
	}
	all := role(acls.RoleReplayerWrite)
	slices.SortStableFunc(all, func(a, b permission) int { // what makes topics first: deleted topics have no states yet
		switch {
		case a.op == acls.Create && b.op != acls.Create:
			return -1
		case a.op != acls.Create && b.op == acls.Create:
			return 1
		}
		return 0
	})
	w.grant(all...)
	_, listed := replayer("groups", "-o", "json")
	group := regexp.MustCompile(`"id": ?"([0-9a-f]{12})"`).FindStringSubmatch(listed)
	must.That(t, group != nil, "no group: %s", listed)
	replay := []string{"--limit", "1", "--execute", "--create-topics", "--origin", target, "--reason", "a test"}
	for _, p := range all {
		w.take(p)
		if p.op == acls.Create {
			w.asAdmin(func() { _ = w.log.Delete(w.ctx, p.grant.Name) }) // the command makes it again, where it may
		}
		command, args := "replay", replay
		if p.grant.Resource == acls.TransactionalID && strings.HasSuffix(p.grant.Name, "-control") {
			command, args = "note", []string{group[1], "somebody looks at it"}
		}
		code, text := replayer(command, args...)
		if refused := code != 0; refused != (p.grant.When(p.op) != acls.Seen) {
			t.Errorf("without %v: %d %s", p, code, text)
		} else if refused && !w.denial(p).MatchString(text) {
			t.Errorf("without %v it does not say %q: %s", p, w.denial(p), text)
		}
		w.grant(p)
	}
	w.grant(slices.DeleteFunc(role(acls.RoleReplayerRead), func(p permission) bool { return p.op != acls.Read || !strings.HasSuffix(p.grant.Name, "-audit") })...)
	for _, args := range [][]string{
		{"replay", "--all", "--execute", "--create-topics", "--origin", target, "--reason", "a test"}, {"replays"}, {"audit"}, {"groups"}, {"list"}, {"stats"},
	} {
		code, text := replayer(args[0], args[1:]...)
		expect.That(t, code == 0, "%v: %s", args, text)
	}
	w.asAdmin(func() {
		times := map[string]int{}
		for _, r := range w.read(target) {
			times[string(r.Key)]++
		}
		for i := range n {
			expect.Equal(t, times[fmt.Sprintf("k%d", i)], 1, "k", i, "is back")
		}
	})
}

// profile lets commands come as the principal to a DLQ without a pipeline, and returns the flags that name it.
func (w *ward) profile(dlq string) []string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "profiles.yaml")
	text := fmt.Sprintf("profiles:\n  ward:\n    brokers: [%q]\n    %s\n", w.kafka.Behind, w.sasl())
	must.Do(w.t, os.WriteFile(file, []byte(text), 0o600))
	return []string{"--profiles", file, "--profile", "ward", "--topic", dlq}
}
