package consumer

import (
	"context"

	"github.com/switchback-geo/switchback/internal/control"
)

// openKeys takes up the keys by which replays are believed: those of the environment, else those of the control topic. Where that
// has none, one is made before the first record is taken, so that no replay comes before its key.
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

// ordered takes up what the control topic says now. A key that was deleted there counts until a restart, unless there is another one:
// right after the start the view may not hold the new key yet.
func (c *Consumer) ordered(ctx context.Context, view control.View) {
	if len(c.given) == 0 && len(view.Keys) > 0 {
		c.keys.Set(view.Keys)
	}
	c.orders.take(ctx, view)
}
