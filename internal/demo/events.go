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

// event is one record to produce: the feature's id and its JSON.
type event struct {
	key   string
	value []byte
}

// events yields n events: the embedded features in published order, earthquakes and counties mixed in proportion. Beyond RealEvents the same
// features come again, each round as a newer version of itself.
func events(n int) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		features, err := mixed()
		if err != nil {
			yield(event{}, err)
			return
		}
		for i := range n {
			f := features[i%len(features)]
			value, err := version(f.JSON, i/len(features))
			if err != nil {
				err = fmt.Errorf("feature %s: %w", f.ID, err)
			}
			if !yield(event{key: f.ID, value: value}, err) || err != nil {
				return
			}
		}
	}
}

// mixed returns every embedded feature once, so that at any moment about the same share of the earthquakes as of the counties has come.
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
var updated = regexp.MustCompile(`"updated":(\d+)`)

const (
	// properties is where a county's version is put.
	properties = `"properties":{`
	// published stands in for the version of a county, which has none: 1 January 2018, when the
	// Census Bureau's edition of 2017 was out.
	published = 1514764800000
	// revision is the time between two versions of a feature in the demo, in milliseconds.
	revision = 3_600_000
)

// version returns the feature with properties.updated (milliseconds since 1970) advanced by one
// revision per round. Round 0 is the feature as published. It works on the bytes of the embedded
// features, so that everything else stays as it was published.
func version(feature []byte, round int) ([]byte, error) {
	if round == 0 {
		return feature, nil
	}
	if at := updated.FindSubmatchIndex(feature); at != nil {
		was, err := strconv.ParseInt(string(feature[at[2]:at[3]]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("properties.updated: %w", err)
		}
		return splice(feature, at[2], at[3], strconv.FormatInt(was+int64(round)*revision, 10)), nil
	}
	at := bytes.Index(feature, []byte(properties))
	if at < 0 {
		return nil, fmt.Errorf("no properties to put a version into")
	}
	at += len(properties)
	return splice(feature, at, at, fmt.Sprintf(`"updated":%d,`, published+int64(round)*revision)), nil
}

// splice returns a copy of b with b[from:to] replaced.
func splice(b []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(b)+len(text))
	out = append(out, b[:from]...)
	out = append(out, text...)
	return append(out, b[to:]...)
}

// producer puts the events into the source topic at their pace.
type producer struct {
	client *kgo.Client
	topic  string
	pace   Pace
	events int
	count  atomic.Int64 // acknowledged so far
}

// run produces all events and returns when the broker has acknowledged every one.
func (p *producer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start, i := time.Now(), 0
	for e, err := range events(p.events) {
		if err != nil {
			return err
		}
		if wait := time.Until(start.Add(p.pace.at(i, p.events))); wait > 0 {
			if kafka.Pause(ctx, wait) != nil {
				return context.Cause(ctx)
			}
		}
		p.client.Produce(ctx, &kgo.Record{Topic: p.topic, Key: []byte(e.key), Value: e.value}, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("produce event %s: %w", e.key, err))
				return
			}
			p.count.Add(1)
		})
		i++
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("produce the last events: %w", context.Cause(ctx))
	}
	return context.Cause(ctx)
}
