package screen

import (
	"fmt"
	"io"
	"slices"

	"github.com/guptarohit/asciigraph"

	"github.com/switchback-geo/switchback/internal/simulate"
)

// narrowest is the width below which a plot says nothing.
const narrowest = 40

const (
	plotHeight = 6
	axisWidth  = 12 // what the labels of the vertical axis take
)

// plots draws what waits in each tier, the lag and the requests to each provider over time. What is always nothing is
// left out.
func plots(out io.Writer, r simulate.Report, width int) {
	columns := width - axisWidth
	draw := func(what string, value func(simulate.Point) float64) {
		heights := squeeze(r.Series, columns, value)
		if slices.Max(heights) <= 0 {
			return
		}
		fmt.Fprintf(out, "\n%s\n%s\n", what, asciigraph.Plot(heights,
			asciigraph.Height(plotHeight), asciigraph.Width(columns), asciigraph.LowerBound(0), asciigraph.YAxisValueFormatter(amount),
			asciigraph.XAxisRange(0, float64(last(r))), asciigraph.XAxisTickCount(5),
			asciigraph.XAxisValueFormatter(func(at float64) string { return span(simulate.Seconds(at)) })))
	}
	if len(r.Series) == 0 {
		return
	}
	for i, t := range r.Tiers {
		draw("waiting in "+t.Topic, func(p simulate.Point) float64 { return p.Waiting[i] })
	}
	draw("waiting for the first attempt", func(p simulate.Point) float64 { return p.Lag })
	for i, provider := range r.Providers {
		draw("requests a second to "+provider.Name, func(p simulate.Point) float64 { return p.Requests[i] })
	}
	draw("dead letters, per point of the plot", func(p simulate.Point) float64 { return p.Dead })
}

// last is where the plots end.
func last(r simulate.Report) simulate.Seconds {
	return r.Series[len(r.Series)-1].At
}

// squeeze gives one value per column, the highest of those that share it.
func squeeze(series []simulate.Point, columns int, value func(simulate.Point) float64) []float64 {
	out := make([]float64, min(columns, len(series)))
	for i, p := range series {
		at := i * len(out) / len(series)
		out[at] = max(out[at], value(p))
	}
	return out
}

// amount is number of what waits; the plot reaches its zero by subtraction, and may miss it by a hair.
func amount(waiting float64) string { return number(max(waiting, 0)) }
