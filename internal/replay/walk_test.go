package replay

import (
	"context"
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// A walk that failed does not look like one that came to its end.
func TestWalk_keepsItsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	w := startWalk(t.Context(), func(_ context.Context, fn func(candidate) error) error {
		if err := fn(candidate{letter: &deadletters.Letter{ID: "a"}}); err != nil {
			return err
		}
		return broken
	})
	defer w.stop()
	c, more, err := w.next()
	expect.That(t, err == nil && more && c.id() == "a", "%v %v %v", c.id(), more, err)
	for range 2 {
		_, more, err := w.next()
		expect.That(t, errors.Is(err, broken), "%v, %v", more, err)
	}
}
