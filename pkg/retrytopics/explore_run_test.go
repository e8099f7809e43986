//go:build !race

package retrytopics

import (
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Every interleaving of small histories keeps every promise. How many states there are is printed.
func TestExplore_S3_1_S4_14_everyInterleavingKeepsThePromises(t *testing.T) {
	asked := cmp.Or(os.Getenv("SWITCHBACK_TEST_HISTORIES"), scales[0].name)
	at := slices.IndexFunc(scales, func(s scale) bool { return s.name == asked })
	must.That(t, at >= 0, "SWITCHBACK_TEST_HISTORIES is %q, and can be one of %+v", asked, scales)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1")))(t)
	defer client.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // states are made and forgotten
	var all explored
	histories, began := 0, time.Now()
	for _, p := range plans(scales[at]) {
		started := time.Now()
		n := exploreAll(t, &p, client)
		if t.Failed() {
			return
		}
		t.Logf("explored: %-28s %4d histories %9d states %9d steps %6d ends, digest %016x, %.1f s", p.name, len(p.histories), n.states, n.steps, n.ends, n.digest, time.Since(started).Seconds())
		histories += len(p.histories)
		all.add(n)
	}
	t.Logf("explored: %d states in %d steps, of %d histories, scale %s, %.1f s", all.states, all.steps, histories, asked, time.Since(began).Seconds())
}

// exploreAll explores the histories of a plan side by side, up to the first broken promise.
func exploreAll(t *testing.T, p *plan, client *kgo.Client) (all explored) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // its clock stands still
		next := make(chan history, len(p.histories))
		for _, h := range slices.Backward(p.histories) { // the ones with many keys have most states
			next <- h
		}
		close(next)
		var mu sync.Mutex
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for h := range next {
					n, err := exploreOne(p, h, client)
					mu.Lock()
					all.add(n)
					expect.That(t, err == nil || t.Failed(), "%v", err)
					failed := t.Failed()
					mu.Unlock()
					if failed {
						return
					}
				}
			})
		}
		workers.Wait()
	})
	return all
}

func exploreOne(p *plan, h history, client *kgo.Client) (explored, error) {
	x, err := newExplorer(p, h, client)
	if err != nil {
		return explored{}, err
	}
	return x.explore()
}
