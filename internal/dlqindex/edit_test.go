package dlqindex

import (
	"database/sql"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// edit_of is the place of the record that a letter's last record is an edit of, and NULL as long
// as its bytes are those that died.
func TestSync_S4_6_edit_of_names_the_original(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		want := func(editOf string, deaths int) {
			t.Helper()
			w.sync()
			w.sound()
			var got sql.NullString
			must.Do(t, w.store.row(t.Context(), "SELECT edit_of FROM @dead_letter_queue WHERE id = 'a'").Scan(&got))
			l := w.letter("a")
			if got.String != editOf || got.Valid != (editOf != "") || l.Edited() != got.Valid || l.Deaths != deaths {
				t.Errorf("edit_of %+v and %d deaths, want %q and %d", got, l.Deaths, editOf, deaths)
			}
		}
		edit := func(of string) *kgo.Record {
			r := w.dead(1, "a", nil)
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: deadletters.HeaderEditOf, Value: []byte(of)})
			return r
		}
		w.put(w.dead(1, "a", nil))
		want("", 1)
		w.put(edit("dlq/1/0"))
		want("dlq/1/0", 1)
		if at := w.letter("a").EditOf; at != (header.Position{Topic: "dlq", Partition: 1}) {
			t.Errorf("it is an edit of %s", at)
		}
		w.put(edit("dlq/1/1"), w.dead(0, "b", nil))
		want("dlq/1/1", 1)
		w.put(w.dead(1, "a", nil)) // put back, and dead once more
		want("", 2)
	})
}
