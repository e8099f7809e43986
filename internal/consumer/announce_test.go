package consumer_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	orders "github.com/switchback-geo/switchback/internal/control"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/status"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// An instance announces its mapping to its group, and announces it again when a reference set has other keys.
func TestConsumer_S4_8_announcesItsMapping(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "zones.csv")
	write := func(text string) {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("id\nA\n")
	s := newScene(t, func(http.ResponseWriter, *http.Request) {}, `
pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 0.1, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
kafka: { brokers: ["%s"] }
# %s
transform: { references: [{ name: zones, file: `+file+`, column: id }], fields: [{ to: zone, references: { set: zones } }] }
`)
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(60*time.Second))
	defer cancel()
	running, stop := context.WithCancel(ctx)
	c := s.consumer()
	var done sync.WaitGroup
	done.Go(func() {
		if err := c.Run(running); err != nil {
			t.Error(err)
		}
	})
	defer done.Wait()
	defer stop()
	announced := func() {
		t.Helper()
		m := must.Get(pipeline.NewMapping(s.cfg))(t)
		want := must.Get(m.Fingerprint())(t)
		eventually.Until(ctx, t, "the mapping "+want, func() (bool, string) {
			r, err := status.Gather(ctx, s.cfg, kadm.NewClient(s.client), orders.View{}, nil, deadletters.NewCounter(s.client, s.cfg.Topics.DLQ, s.cfg.Topics.DLQStatus))
			var text bytes.Buffer
			if err == nil {
				err = r.Text(&text)
			}
			return err == nil && len(r.Members) == 1 && r.Members[0].Mapping == want && strings.Contains(text.String(), "mapping "+status.ShortMapping(want)), text.String()
		})
	}
	announced()
	write("id\nA\nB\n")
	announced() // the file is looked at every 10 s
}
