package consumer

import (
	"context"

	"github.com/switchback-geo/switchback/internal/control"
)

// openKeys loads the keys that prove replays: those of the environment, otherwise those of the control topic. If that
// has none, openKeys creates one before the first record is consumed, so that no replay comes before its key.
func (c *Consumer) openKeys(ctx context.Context, view control.View) error {
	switch {
	case len(c.given) > 0:
		c.keys.Set(c.given)
		return nil
	case len(view.Keys) > 0:
		c.keys.Set(view.Keys)
		return nil
	}
	keys, err := control.Keys(ctx, c.kafka, c.cfg.Topics.Control, c.now())
	if err != nil {
		return c.denied(err)
	}
	c.keys.Set(keys)
	return nil
}

// ordered applies the current content of the control topic. A key that was deleted there stays valid until a restart,
// unless there is another one: right after the start the view may not have the new key yet.
func (c *Consumer) ordered(ctx context.Context, view control.View) {
	if len(c.given) == 0 && len(view.Keys) > 0 {
		c.keys.Set(view.Keys)
	}
	c.orders.take(ctx, view)
}
