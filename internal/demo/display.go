package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/switchback-geo/switchback/internal/cli"
)

// display is a block of lines at the bottom of a terminal that is redrawn in place. Other output, such as log lines, appears above it. If
// the output is no terminal, there is no block.
type display struct {
	mu       sync.Mutex // guards block and the order of output
	out      io.Writer
	terminal bool
	block    string
}

// show replaces the block. A line that wraps could not be drawn over, so it is cut.
func (d *display) show(lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.block = ""
	for _, line := range lines {
		d.block += cli.CutText(line, width) + "\n"
	}
	fmt.Fprint(d.out, d.block)
}

// clear removes the block.
func (d *display) clear() { d.show(nil) }

// Write prints above the block.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	n, err := d.out.Write(p)
	fmt.Fprint(d.out, d.block)
	return n, err
}

// erase moves the cursor up to the block's first line and erases to the end of the screen (ECMA-48: CUU, ED).
func (d *display) erase() {
	if n := strings.Count(d.block, "\n"); n > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", n)
	}
}
