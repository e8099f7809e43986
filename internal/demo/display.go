package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/switchback-geo/switchback/internal/cli"
)

// display is a block of lines at the bottom of a terminal that is redrawn in place. What is
// written to it otherwise, such as log lines, appears above. Off a terminal there is no block.
type display struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	block    string
}

// width is what a line of the block takes at most: a line that wraps could not be drawn over.
const width = 79

// show replaces the block. Off a terminal it prints the first line and nothing else.
func (d *display) show(lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.terminal {
		fmt.Fprintln(d.out, lines[0])
		return
	}
	d.erase()
	d.block = ""
	for _, line := range lines {
		d.block += cli.CutText(line, width) + "\n"
	}
	fmt.Fprint(d.out, d.block)
}

// clear takes the block away.
func (d *display) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.block = ""
}

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
