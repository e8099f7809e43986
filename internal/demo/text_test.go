package demo

import (
	"bytes"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/safetext"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{thousands(0), "0"},
		{thousands(999), "999"},
		{thousands(4938), "4,938"},
		{thousands(int64(1234567)), "1,234,567"},
		{thousands(-1234), "-1,234"},
		{brief(0), "0 ms"},
		{brief(350 * time.Microsecond), "0.3 ms"},
		{brief(42 * time.Millisecond), "42 ms"},
		{brief(1400 * time.Millisecond), "1.4 s"},
		{brief(75 * time.Second), "75 s"},
		{safetext.Cut("São Tomé", 8), "São Tomé"},
		{safetext.Cut("São Tomé", 4), "São…"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestDisplay_draws_over_its_block_and_puts_log_lines_above(t *testing.T) {
	var out bytes.Buffer
	d := &display{out: &out, terminal: true}
	d.show([]string{"one", "two"})
	if _, err := d.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	d.show([]string{"three"})
	d.clear()
	want := "one\ntwo\n" + "\x1b[2A\x1b[J" + "a log line\n" + "one\ntwo\n" + "\x1b[2A\x1b[J" + "three\n" + "\x1b[1A\x1b[J"
	if out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

func TestDisplay_off_a_terminal_one_line_and_no_control_characters(t *testing.T) {
	var out bytes.Buffer
	d := &display{out: &out}
	d.show([]string{"one", "two"})
	d.show([]string{"three"})
	d.clear()
	if out.String() != "one\nthree\n" {
		t.Errorf("%q", &out)
	}
}
