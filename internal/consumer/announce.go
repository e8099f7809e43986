package consumer

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/switchback-geo/switchback/internal/status"
)

// announced is what the instance says of itself to its group. The engine asks for it from goroutines of its own.
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

// announce takes up the fingerprint that the mapping has now, and says whether it is another one.
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

// referencesChanged joins the group again when a reference set has other keys: the mapping is another one then.
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
