package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
)

// rekey takes the table to another rule, by which each key leads to the row of a map.
func (b *bench) rekey(key config.SinkKey, leads map[string]string, execute bool) (Rekeyed, error) {
	cfg := *b.cfg
	cfg.Sink.Key = key
	return Rekey(b.t.Context(), &cfg, Rekeying{Execute: execute, Fill: func(ctx context.Context, of *Guarded) error {
		of.limit = 3 // so that there are pages
		return of.Each(ctx, func(old string) error {
			if leads[old] == "" {
				return nil
			}
			return errors.Join(of.Add(ctx, old, old, "before"), of.Add(ctx, old, old, leads[old]))
		})
	}})
}

// S0-6: a table with rows is taken from record keys to feature ids, all or nothing. Afterwards events move and delete those rows, and
// what is older than they are is still refused.
func TestRekey_S0_6_takesATableWithRows(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	leads := map[string]string{}
	for i := range 8 {
		key := fmt.Sprint("k", i)
		leads[key] = fmt.Sprint("f", i)
		b.must(b.row(key, 0, 10, fmt.Sprintf(`{"name":%q}`, key), point))
	}
	b.must(b.row("k7", 0, 11, "", point))
	before := b.names()
	for says, broken := range map[string]map[string]string{"lead nowhere": {"k3": ""}, "by the key of another": {"k3": "f2"}} {
		changed := maps.Clone(leads)
		maps.Copy(changed, broken)
		_, err := b.rekey(config.SinkKeyFeature, changed, true)
		if _, is := errors.AsType[*RekeyError](err); !is || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "k3") {
			t.Errorf("%s: %v", says, err)
		}
	}
	done, err := b.rekey(config.SinkKeyFeature, leads, false)
	if err != nil || done.Rows != 7 || done.Keys != 8 || b.names() != before {
		t.Fatalf("the dry run: %+v, %v, %s", done, err, b.names())
	}
	if done, err = b.rekey(config.SinkKeyFeature, leads, true); err != nil || done.Rows != 7 {
		t.Fatalf("%+v, %v", done, err)
	}
	if again, err := b.rekey(config.SinkKeyFeature, leads, true); err != nil || !again.Unchanged {
		t.Errorf("again: %+v, %v", again, err)
	}
	wantHold(t, b.write(b.row("k0", 0, 12, `{"name":"by the old rule"}`, point)), Dependency, "consumer sink rekey")
	b.refound(config.SinkKeyFeature)
	b.must(b.of("k0", "f0", 9), b.of("k1", "", 12), b.of("k2", "moved", 12), b.of("k3", "f3", 12), b.of("k7", "f7", 10))
	want := "f0: k0, f3: f3 of k3 at 12, f4: k4, f5: k5, f6: k6, moved: moved of k2 at 12"
	if got := b.names(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := b.rekey(config.SinkKeyRecord, leads, true); err == nil || !strings.Contains(err.Error(), "cannot go back") {
		t.Errorf("back to the record key: %v", err)
	}
}

// Who does not own the tables is told so, and nothing is changed.
func TestRekey_S4_3_namesThePrivilege(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.must(b.row("k", 0, 1, `{"name":"x"}`, point))
	role := b.role("select, insert, update, delete")
	b = b.as(role)
	_, err := b.rekey(config.SinkKeyFeature, map[string]string{"k": "f"}, true)
	if err == nil || !strings.Contains(err.Error(), "parcels") || !strings.Contains(err.Error(), "permission") && !strings.Contains(err.Error(), "owner") {
		t.Error(err)
	}
	if got := b.names(); got != "k: x" {
		t.Error(got)
	}
}
