package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// aged gives a world with letters in its index, which is then closed.
func aged(t *testing.T, place string) *world {
	t.Helper()
	w := newWorld(t, place)
	for i := range 40 {
		w.put(w.dead(0, fmt.Sprintf("north-%d", i), nil))
	}
	w.sync()
	return w
}

func (w *world) shut() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func ofDamage(err error) bool {
	_, damaged := errors.AsType[*DamagedError](err)
	return damaged && strings.Contains(err.Error(), "--rebuild")
}

func TestOpen_S4_6_notices_a_damaged_file(t *testing.T) {
	t.Parallel()
	const page = 16384
	for name, spoil := range map[string]func([]byte) []byte{
		"no database": func([]byte) []byte { return bytes.Repeat([]byte("x"), 2*page) },
		"a page of zeros": func(b []byte) []byte {
			return append(append(bytes.Clone(b[:page]), make([]byte, page)...), b[2*page:]...)
		},
		"cut in half": func(b []byte) []byte { return b[:len(b)/page/2*page] },
	} {
		t.Run(name, func(t *testing.T) {
			place := filepath.Join(t.TempDir(), "index.sqlite")
			w := aged(t, place)
			w.shut()
			whole, err := os.ReadFile(place)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(place, spoil(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), place)
			if !ofDamage(err) || !strings.Contains(err.Error(), place) {
				t.Fatalf("%v, %v", s, err)
			}
			if w.store, err = Replace(t.Context(), place, err); err != nil {
				t.Fatal(err)
			}
			defer w.shut()
			done, err := w.store.Sync(t.Context(), w.cl, source, nil)
			if err != nil || done.Letters != 40 || !strings.Contains(done.Anew, place+".damaged") {
				t.Errorf("%+v, %v", done, err)
			}
			w.sound()
			if kept, err := os.ReadFile(place + ".damaged"); err != nil || !bytes.Equal(kept, spoil(whole)) {
				t.Errorf("%d bytes kept, %v", len(kept), err)
			}
		})
	}
}

// A changed byte in a block leaves the pages of the database whole, and every figure wrong.
func TestBlocks_S4_6_a_changed_byte_is_noticed_where_it_is_read(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		for _, p := range []part{slots, marks, words} {
			w := aged(t, place)
			err := w.store.inTx(t.Context(), func(tx *tx) error {
				var data []byte
				if err := tx.row("SELECT data FROM @dead_letter_block WHERE part = ?", string(p)).Scan(&data); err != nil {
					return err
				}
				data[3] ^= 1
				return tx.exec("UPDATE @dead_letter_block SET data = ? WHERE part = ?", data, string(p))
			})
			if err != nil {
				t.Fatal(err)
			}
			d, err := w.store.DLQ(t.Context(), w.cluster, source.DLQ)
			if err != nil {
				t.Fatal(err)
			}
			asked := Query{Filter: deadletters.Filter{Text: "north"}}
			if _, err := d.Groups(t.Context(), asked); !ofDamage(err) {
				t.Errorf("%s: groups: %v", p, err)
			}
			if _, err := w.store.Check(t.Context(), w.cl, source); !ofDamage(err) {
				t.Errorf("%s: check: %v", p, err)
			}
			if err := w.store.Forget(t.Context(), w.cluster, source.DLQ); err != nil {
				t.Fatal(err)
			}
			w.sync()
			w.sound()
			w.shut()
		}
	})
}
