package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/consumer"
)

// frame is what the live progress shows at one moment.
type frame struct {
	elapsed  time.Duration
	now      time.Time
	produced int64
	events   int
	rate     float64       // records consumed per second, lately
	outage   time.Duration // how long the outage still lasts; 0: none
	progress consumer.Progress
}

// lines renders the frame. The first line alone is what a log file gets.
func (f frame) lines() []string {
	p := f.progress
	lines := []string{
		fmt.Sprintf("%02d:%02d  %s of %s produced, %s delivered, %s waiting, %s dead letters",
			int(f.elapsed.Minutes()), int(f.elapsed.Seconds())%60, thousands(f.produced), thousands(f.events),
			thousands(p.Delivered), thousands(waiting(p)), thousands(p.DeadLettered)),
		fmt.Sprintf("       %s consumed, %s records/s; %s", thousands(p.Consumed), thousands(int64(f.rate+0.5)), f.weather()),
	}
	for _, tier := range p.Tiers {
		due := ""
		if tier.Waiting > 0 && !tier.NextDue.IsZero() {
			due = "next due in " + brief(max(tier.NextDue.Sub(f.now), 0))
		}
		lines = append(lines, fmt.Sprintf("       %-18s %6s waiting  %-20s %7s retried",
			tier.Topic, thousands(tier.Waiting), due, thousands(tier.Retried)))
	}
	if len(p.DeadByCode) > 0 {
		var codes []string
		for _, code := range sorted(p.DeadByCode) {
			codes = append(codes, fmt.Sprintf("%s %s", code, thousands(p.DeadByCode[code])))
		}
		lines = append(lines, "       DLQ: "+strings.Join(codes, ", "))
	}
	return lines
}

func (f frame) weather() string {
	if f.outage > 0 {
		return "place-name service down, for another " + brief(f.outage)
	}
	return "place-name service up"
}

func waiting(p consumer.Progress) int64 {
	var n int64
	for _, tier := range p.Tiers {
		n += tier.Waiting
	}
	return n
}
