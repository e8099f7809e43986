package main

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/index"
)

// rounds is how often each question is asked; the median counts.
const rounds = 7

// ask measures answers.
func ask(ctx context.Context, cl *kgo.Client, store *index.Store, src index.Source) (map[string]float64, error) {
	meta, err := kadm.NewClient(cl).BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	d, err := store.DLQ(ctx, meta.Cluster, src.DLQ)
	if err != nil {
		return nil, err
	}
	list := func(f deadletters.Filter) func() error {
		return func() error {
			return d.Letters(ctx, index.Query{Filter: f}, func(deadletters.Letter) error { return nil })
		}
	}
	groups := func(f deadletters.Filter) func() error {
		return func() error {
			_, err := d.Groups(ctx, index.Query{Filter: f})
			return err
		}
	}
	pending := []deadletters.Status{deadletters.Pending}
	box, err := deadletters.ParseBBox("10,48,11,49")
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for name, question := range map[string]func() error{
		"list, the oldest 100":                    list(deadletters.Filter{Limit: 100}),
		"list, the oldest 100 pending":            list(deadletters.Filter{Limit: 100, Statuses: pending}),
		"list, 100 of a group":                    list(deadletters.Filter{Limit: 100, Groups: []string{group()}, Statuses: pending}),
		"list, 100 of the last hour":              list(deadletters.Filter{Limit: 100, Since: time.Now().Add(-time.Minute)}),
		"list, by id":                             list(deadletters.Filter{IDs: []string{id(4711)}}),
		"groups":                                  groups(deadletters.Filter{}),
		"groups, pending":                         groups(deadletters.Filter{Statuses: pending}),
		"groups since a time (scan)":              groups(deadletters.Filter{Since: time.Now().Add(-time.Hour)}),
		"list by bbox, nothing found (scan)":      list(deadletters.Filter{BBox: &box}),
		"list by text of a value, nothing (scan)": list(deadletters.Filter{Text: "no such text"}),
		"stats": func() error { _, err := d.Stats(ctx); return err },
	} {
		if out[name], err = median(question); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func group() string {
	code, stage, message := causes(0)
	return deadletters.Fingerprint(code, stage, deadletters.NormaliseFor("P-0", message))
}

func median(question func() error) (float64, error) {
	var took []float64
	for range rounds {
		start := time.Now()
		if err := question(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
