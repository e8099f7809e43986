package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/index"
)

// A question that takes long does not stay silent, on a terminal or off it; a quick one does.
func TestLooking_S4_6_says_what_takes_long(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		patience time.Duration
		want     []string
	}{
		"quick":          {true, time.Hour, nil},
		"on a terminal":  {true, 0, []string{"25 %", "50 %", "100 %)\n"}},
		"off a terminal": {false, 0, []string{"takes a while; --since"}},
	} {
		var said bytes.Buffer
		a := &app{env: Env{Err: &said, ErrTerminal: c.terminal}}
		looked := a.looking(c.patience)
		for done := range 4 {
			looked(done+1, 4)
		}
		for _, want := range c.want {
			if strings.Count(said.String(), want) != 1 {
				t.Errorf("%s: said %q, want %q once", name, said.String(), want)
			}
		}
		if len(c.want) == 0 && said.Len() > 0 {
			t.Errorf("%s: said %q", name, said.String())
		}
	}
}

// Whoever has an index of another version is told that it is thrown away, once.
func TestIndexProgress_S4_6_says_that_an_index_is_made_anew(t *testing.T) {
	var said bytes.Buffer
	a := &app{env: Env{Err: &said}}
	told := a.indexProgress()
	for done := range int64(3) {
		told(index.Progress{Topic: "features.dlq", Done: done, Total: 3, Anew: "its tables were those of version 3"})
	}
	if want := "the index of features.dlq is rebuilt: its tables were those of version 3\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}
