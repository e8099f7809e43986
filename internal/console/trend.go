package console

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// The bars of a trend, in the units of its picture.
const (
	trendBars   = 24
	trendHeight = 32
)

// trend is when the dead letters of a group died, from the first death until now.
type trend struct {
	Bars []bar
	Part string // duration of a bar
	Most int    // dead letters of the highest bar
}

type bar struct{ X, Y, Height, Letters int }

// trendOf returns nil if the trend is unknown. That is not an error of the page.
func (c *Console) trendOf(ctx context.Context, g dlq.GroupJSON) *trend {
	from, err := time.Parse(time.RFC3339, g.FirstSeen)
	if err != nil {
		return nil
	}
	part := max(c.now().Sub(from)/trendBars, time.Second) + time.Millisecond // so that now is in the last bar
	counts, err := c.letters.Trend(ctx, dlqindex.Query{Filter: deadletters.Filter{Groups: []string{g.ID}}}, from, part, trendBars)
	if err != nil {
		return nil
	}
	out := &trend{Part: span(part)}
	for _, n := range counts {
		out.Most = max(out.Most, n)
	}
	for i, n := range counts {
		if n > 0 {
			height := max(2, n*trendHeight/out.Most)
			out.Bars = append(out.Bars, bar{X: 10 * i, Y: trendHeight - height, Height: height, Letters: n})
		}
	}
	return out
}
