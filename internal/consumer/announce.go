package consumer

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/switchback-geo/switchback/internal/status"
)

// announced is what the instance tells its group about itself. The engine reads it from its own goroutines.
type announced struct {
	version string // of the software
	text    atomic.Pointer[[]byte]
}

func (a *announced) get() []byte {
	if text := a.text.Load(); text != nil {
		return *text
	}
	return nil
}

// announce stores the current fingerprint of the mapping, and reports whether it changed.
func (c *Consumer) announce() (changed bool, err error) {
	mapping, err := c.work.Fingerprint()
	if err != nil {
		return false, err
	}
	text, err := status.Announcement{Mapping: mapping, Software: c.announced.version}.Encode()
	if err != nil {
		return false, fmt.Errorf("announce the mapping: %w", err)
	}
	changed = !bytes.Equal(text, c.announced.get())
	c.announced.text.Store(&text)
	return changed, nil
}

// referencesChanged joins the group again when the keys of a reference set changed, because the mapping is then another
// one.
func (c *Consumer) referencesChanged(ctx context.Context) {
	changed, err := c.announce()
	if err != nil {
		c.log.WarnContext(ctx, "the group is not told of the changed mapping", "error", err)
		return
	}
	if changed {
		c.engine.Rejoin()
	}
}
