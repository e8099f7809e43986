package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
	replay := []string{"--limit", "1", "--execute", "--create-topics", "--origin", target, "--reason", "a test"}
	for _, p := range all {
		w.take(p)
		if p.op == acls.Create {
			w.asAdmin(func() { _ = w.log.Delete(w.ctx, p.grant.Name) }) // the command makes it again, where it may
		}
		code, text := replayer("replay", replay...)
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
		if code, text := replayer(args[0], args[1:]...); code != 0 {
			t.Errorf("%v: %s", args, text)
		}
	}
	w.asAdmin(func() {
		times := map[string]int{}
		for _, r := range w.read(target) {
			times[string(r.Key)]++
		}
		for i := range n {
			if k := times[fmt.Sprintf("k%d", i)]; k != 1 {
				t.Errorf("k%d is back %d times", i, k)
			}
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
