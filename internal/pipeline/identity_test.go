package pipeline_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Features of many sizes are hashed at once, in buffers that are used again: each hash is that of its own content.
func TestHandle_S2_4_hashesInBuffersOfItsOwn(t *testing.T) {
	p := build(t, "")
	alone := must.Get(transform.New(transform.Config{}))(t)
	const workers, events = 8, 200
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range events {
				value := fmt.Sprintf(feature, `"`+strings.Repeat(string(rune('a'+worker)), i*37%1500)+`"`)
				result, err := p.Handle(t.Context(), record(value))
				if err != nil {
					t.Error(err)
					return
				}
				source, err := alone.Decode([]byte(value))
				if err != nil {
					t.Error(err)
					return
				}
				if want := idempotency.Of(transform.Canonical(source)).String(); result.ContentHash != want {
					t.Errorf("worker %d, event %d: hash %s, want %s", worker, i, result.ContentHash, want)
				}
			}
		})
	}
	group.Wait()
}
