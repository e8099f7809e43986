package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
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
