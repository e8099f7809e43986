package integration

import (
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// atOnce is how many rows of the matrix run side by side: each waits for the broker and for pauses most of its time.
const atOnce = 10

// S4-15: on a broker with ACLs, each command works with exactly what the commands print for it, and each permission that they print is
// needed: the matrix takes it away, at the start and while the command runs, looks at what that does, and gives it back. The rows are
// those of the table in internal/acls.
func TestPermissions_S4_15(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
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
