package screen_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/screen"
)

// S2-7: nothing is drawn beyond the terminal, and no text steers it.
func TestFit_S2_7_nothingBeyondTheTerminal(t *testing.T) {
	lines := screen.Fit(strings.Repeat("a line that is long\n", 30)+"\x1b[2Jthe end\n", 10, 8)
	if len(lines) != 7 || !strings.HasPrefix(lines[6], "… 25 line") {
		t.Errorf("%q", lines)
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 10 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if got := screen.Fit("a\x1b[2Jb\n", 0, 0); len(got) != 1 || strings.Contains(got[0], "\x1b") {
		t.Errorf("%q", got)
	}
	if got := screen.Fit("a\nb\n", 80, 24); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}

func ExampleStale() {
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	fmt.Print(screen.Stale(at, at.Add(5*time.Second), errors.New("the broker\ndoes not answer")))
	// Output: NOT NEW, of 5s ago: the broker does not answer
}

// What is no terminal has no size.
func TestSize_ofWhatIsNoTerminal(t *testing.T) {
	if _, _, terminal := screen.Size(&bytes.Buffer{})(); terminal {
		t.Error("a buffer is taken for a terminal")
	}
}
