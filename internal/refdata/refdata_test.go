package refdata

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestOpen_S0_8(t *testing.T) {
	cases := []struct {
		name, file, text, column string
		has, hasNot              []string
		err                      string
	}{
		{"csv", "a.csv", "code,name\nW2,\"Living, dense\"\nW3,x\n", "code", []string{"W2", "W3"}, []string{"", "w2", "name"}, ""},
		{"csv_bom_and_empty_cells", "a.csv", "\ufeffcode;x\n", "code;x", nil, nil, "no key"},
		{"csv_bom", "a.csv", "\ufeffcode\n7\n\n8\n", "code", []string{"7", "8"}, []string{""}, ""},
		{"csv_no_column", "a.csv", "Code\n1\n", "code", nil, nil, `no column "code"; there are ["Code"]`},
		{"csv_column_twice", "a.csv", "c,c\n1,2\n", "c", nil, nil, "twice"},
		{"csv_ragged", "a.csv", "c,d\n1\n", "c", nil, nil, "line 2"},
		{"csv_empty", "a.csv", "", "c", nil, nil, "header"},
		{"ndjson", "a.ndjson", "{\"id\":\"a\",\"x\":1}\n\n{\"id\":17}\n{\"id\":null}\n", "id", []string{"a", "17"}, []string{""}, ""},
		{"ndjson_no_member", "a.ndjson", "{\"id\":1}\n{\"ID\":2}\n", "id", nil, nil, `line 2: no member "id"`},
		{"ndjson_no_object", "a.ndjson", "[1]\n", "id", nil, nil, "line 1: it is a array"},
		{"ndjson_broken", "a.ndjson", "{\"id\":1}\n{\"id\":\n", "id", nil, nil, "line 2"},
		{"ndjson_no_key", "a.ndjson", "{\"id\":{}}\n", "id", nil, nil, "a key is"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store, err := Open([]transform.Reference{{Name: "s", File: write(t, c.file, c.text), Column: c.column}}, nil)
			if c.err != "" {
				expect.That(t, err != nil && strings.Contains(err.Error(), c.err) && strings.Contains(err.Error(), `"s"`), "got %v", err)
				return
			}
			must.That(t, err == nil, "%v", err)
			set := store.Sets()["s"]
			for _, key := range c.has {
				expect.That(t, set.Has(key), "no %q", key)
			}
			for _, key := range c.hasNot {
				expect.That(t, !set.Has(key), "has %q", key)
			}
		})
	}
	if _, err := Open([]transform.Reference{{Name: "s", File: "none.csv", Column: "c"}}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestWatch_S0_8_reloads_what_changed(t *testing.T) {
	file := write(t, "zones.csv", "code\nW2\n")
	store := must.Get(Open([]transform.Reference{{Name: "zones", File: file, Column: "code"}}, nil))(t)
	transformer := must.Get(transform.New(transform.Config{
		Fields: []transform.Field{{To: "zone", References: &transform.FieldReference{Set: "zones", Mandatory: true}}}, Sets: store.Sets(),
	}))(t)
	resolves := func(zone string) bool {
		_, err := transformer.Apply(t.Context(), []byte(`{"type":"Feature","geometry":null,"properties":{"zone":"`+zone+`"}}`))
		must.That(t, err == nil || classify.Of(err).Code == classify.CodeForeignKeyUnresolved, "%v", err)
		return err == nil
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var reloads []Reload
		go store.Watch(ctx, DefaultInterval, func(r Reload) { reloads = append(reloads, r) })
		step := func(text string) {
			if text != "" {
				must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			}
			time.Sleep(DefaultInterval)
			synctest.Wait()
		}
		step("")
		must.That(t, len(reloads) == 0 && resolves("W2") && !resolves("W3"), "before: %+v", reloads)
		step("code\nW2\nW3\n")
		must.That(t, len(reloads) == 1 && reloads[0].Err == nil && reloads[0].Keys == 2 && resolves("W3"), "after a change: %+v", reloads)
		step("kode\nX\n")
		step("")
		must.That(t, len(reloads) == 2 && reloads[1].Err != nil && reloads[1].Keys == 2 && resolves("W3"), "after a broken change: %+v", reloads)
		step("code\nW9\n")
		must.That(t, len(reloads) == 3 && reloads[2].Err == nil && !resolves("W3") && resolves("W9"), "after it was fixed: %+v", reloads)
		stop()
		synctest.Wait()
	})
}
