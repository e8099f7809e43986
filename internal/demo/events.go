package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// RealEvents is the number of different embedded features: 1,707 earthquakes and 3,231 counties.
const RealEvents = 4938

// mixed returns every embedded feature once, in published order. Earthquakes and counties are mixed in proportion, so
// that each part of the list has about the same share of both.
func mixed() ([]examples.Feature, error) {
	quakes, quakesErr := all(examples.Earthquakes())
	counties, countiesErr := all(examples.Counties())
	out := make([]examples.Feature, 0, len(quakes)+len(counties))
	for q, c := 0, 0; q < len(quakes) || c < len(counties); {
		if q < len(quakes) && q*len(counties) <= c*len(quakes) {
			out, q = append(out, quakes[q]), q+1
		} else {
			out, c = append(out, counties[c]), c+1
		}
	}
	return out, errors.Join(quakesErr, countiesErr)
}

func all(features iter.Seq2[examples.Feature, error]) (out []examples.Feature, err error) {
	for f, err := range features {
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// updated finds the version of an earthquake.
var updated = regexp.MustCompile(`"updated":\d+`)

const (
	// properties is where a county's version is put.
	properties = `"properties":{`
	// published replaces the missing version of a county: 1 January 2018, when the Census Bureau's edition of 2017 was
	// published.
	published = 1514764800000
	// revision is the time between two versions of a feature in the demo, in milliseconds.
	revision = 3_600_000
)

// version returns the feature with properties.updated (milliseconds since 1970) advanced by one revision per round. Round 0 is the feature
// as published. It works on the bytes of the embedded features, so that everything else stays as it was published.
func version(feature []byte, round int) []byte {
	later := int64(round) * revision
	switch {
	case round == 0:
		return feature
	case updated.Match(feature):
		return updated.ReplaceAllFunc(feature, func(was []byte) []byte {
			at, _ := strconv.ParseInt(string(was[len(`"updated":`):]), 10, 64) // digits
			return fmt.Appendf(nil, `"updated":%d`, at+later)
		})
	}
	return bytes.Replace(feature, []byte(properties), fmt.Appendf(nil, `%s"updated":%d,`, properties, published+later), 1)
}

// producer writes the events to the source topic at their pace.
type producer struct {
	client *kgo.Client
	topic  string
	pace   Pace
	events int
	count  atomic.Int64 // acknowledged so far
}

// run produces all events and returns when the broker has acknowledged every one. After RealEvents, the same features
// are repeated, each round as newer versions.
func (p *producer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	features, err := mixed()
	if err != nil {
		return err
	}
	start := time.Now()
	for i := range p.events {
		if wait := time.Until(start.Add(p.pace.at(i, p.events))); wait > 0 {
			if kafka.Pause(ctx, wait) != nil {
				return context.Cause(ctx)
			}
		}
		f := features[i%len(features)]
		p.client.Produce(ctx, &kgo.Record{Topic: p.topic, Key: []byte(f.ID), Value: version(f.JSON, i/len(features))}, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("produce event %s: %w", f.ID, err))
				return
			}
			p.count.Add(1)
		})
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("produce the last events: %w", context.Cause(ctx))
	}
	return context.Cause(ctx)
}
