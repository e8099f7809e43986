package retrytopics_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S0-6: a handler that writes outside Kafka hears the version by which the engine itself judges: of a delete that of the newest
// event, of a forced dead letter its own place.
func TestRecord_S0_6_versionIsTheEnginesOwn(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	var heard []header.Version
	handle := f.cfg.Handler
	f.cfg.Handler = func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		_, text, _ := strings.Cut(string(r.Value), "/")
		n, _ := strconv.ParseInt(text, 10, 64)
		v, ok := r.Version(&n, false)
		expect.That(t, ok, "%s has no version", r.Value)
		heard = append(heard, v)
		return handle(ctx, r)
	}
	f.fail["a/1 1"] = badRow
	f.sends("a/1", "b/5", "c/3")
	f.produce(&kgo.Record{Key: []byte("k")})
	f.drain(f.engine(f.cfg))
	f.replays(true)
	want := []header.Version{{Number: 1, Offset: 0}, {Number: 5, Offset: 1}, {Number: 3, Offset: 2}, {Number: 5, Offset: 3}, {Number: 5, Offset: 4}}
	expect.That(t, slices.Equal(heard, want), "got %v, want %v", heard, want)
	_, ok := (&retrytopics.Record{}).Version(nil, false)
	expect.That(t, !ok, "a record that no engine made has a version")
}
