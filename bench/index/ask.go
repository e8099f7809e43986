package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

const (
	rounds     = 7 // repetitions of a question; the median counts
	slowRounds = 3 // repetitions of a slow question
	slow       = time.Second
	firstPage  = 100 // dead letters of a list
	pageSize   = 50  // dead letters of a page behind a cursor

	mapColumns, mapRows, trendParts = 40, 20, 24 // as the console requests
)

// answer is the time that one question took.
type answer struct {
	Question              string  `json:"question"`
	Milliseconds          float64 `json:"ms"`
	ProcessorMilliseconds float64 `json:"processor_ms"` // of this process, on all cores
	Found                 int     `json:"found"`        // dead letters, groups, or cells of a map
}

// question is a filter with its name.
type question struct {
	name   string
	filter deadletters.Filter
}

// questions returns each filter of list and groups: some that an index supports, some that select many dead letters,
// and some that select none.
func questions(o options, begin time.Time) []question {
	at := func(share float64) time.Time { return begin.Add(time.Duration(share * float64(o.span))) }
	header := func(name string, value *string) []deadletters.HeaderMatch {
		return []deadletters.HeaderMatch{{Name: name, Value: value}}
	}
	some := o.deadLetters / 2
	return []question{
		{"no filter", deadletters.Filter{}},
		{"id", deadletters.Filter{IDs: []string{id(some)}}},
		{"code, most dead letters", deadletters.Filter{Codes: []string{"coercion_failed"}}},
		{"code, nothing", deadletters.Filter{Codes: []string{"timeout"}}},
		{"group, most dead letters", deadletters.Filter{Groups: []string{groupOf(0)}}},
		{"group, few dead letters", deadletters.Filter{Groups: []string{groupOf(9)}}},
		{"status pending", deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}},
		{"status escalated", deadletters.Filter{Statuses: []deadletters.Status{deadletters.Escalated}}},
		{"since, the last day", deadletters.Filter{Since: at(1).Add(-24 * time.Hour)}},
		{"since and until, half of all", deadletters.Filter{Since: at(0.2501), Until: at(0.7502)}},
		{"feature", deadletters.Filter{Features: []string{fmt.Sprintf("P-%d", some)}}},
		{"feature, nothing", deadletters.Filter{Features: []string{"no such feature"}}},
		{"bbox, few dead letters", deadletters.Filter{BBox: &deadletters.BBox{West: 10.05, South: 47.05, East: 10.15, North: 47.15}}},
		{"bbox, half of all", deadletters.Filter{BBox: &deadletters.BBox{West: 0, South: -90, East: 13, North: 90}}},
		{"bbox, nothing", deadletters.Filter{BBox: &deadletters.BBox{West: -10, South: 48, East: -9, North: 49}}},
		{"header by its name, all dead letters", deadletters.Filter{Headers: header("traceparent", nil)}},
		{"header by its value, one dead letter", deadletters.Filter{Headers: header("traceparent", new(traceparent(some)))}},
		{"header, nothing", deadletters.Filter{Headers: header("absent", nil)}},
		{"pipeline, a tenth", deadletters.Filter{Pipelines: []string{"roads"}}},
		{"run, 10000 letters", deadletters.Filter{Runs: []string{runOf(some)}}},
		{"text, one dead letter", deadletters.Filter{Text: fmt.Sprintf(`"AT-%d"`, some)}},
		{"text, nothing", deadletters.Filter{Text: "no such text"}},
		{"text, 1 dead letter of 1000", deadletters.Filter{Text: "somebody of street 123\""}},
		{"text, all dead letters", deadletters.Filter{Text: "N/A"}},
		{"text and code, few dead letters", deadletters.Filter{Text: "N/A", Groups: []string{groupOf(9)}}},
		{"code, status, since and bbox", deadletters.Filter{
			Codes: []string{"coercion_failed"}, Statuses: []deadletters.Status{deadletters.Pending}, Since: at(0.5),
			BBox: &deadletters.BBox{West: 9, South: 46, East: 12, North: 48},
		}},
	}
}

// asker measures answers.
type asker struct {
	d   *dlqindex.DLQ
	out []answer
}

func (a *asker) add(name string, question func() (int, error)) error {
	answered, err := median(question)
	answered.Question = name
	a.out = append(a.out, answered)
	return err
}

// ask measures answers.
func ask(ctx context.Context, index *dlqindex.Index, o options, begin time.Time) ([]answer, error) {
	d, err := index.DLQ(ctx)
	if err != nil {
		return nil, err
	}
	a := &asker{d: d}
	for _, q := range questions(o, begin) {
		if err := a.all(ctx, q); err != nil {
			return nil, err
		}
	}
	err = a.add("stats", func() (int, error) {
		s, err := a.d.Stats(ctx)
		return s.Letters, err
	})
	if err == nil {
		err = a.add("trend of the largest group", func() (int, error) {
			parts, err := a.d.Trend(ctx, dlqindex.Query{Filter: deadletters.Filter{Groups: []string{groupOf(0)}}}, begin, o.span/trendParts, trendParts)
			return len(parts), err
		})
	}
	return a.out, err
}

// all measures one filter with each command.
func (a *asker) all(ctx context.Context, q question) error {
	err := a.add("list: "+q.name, func() (int, error) {
		found, first := 0, q.filter
		first.Limit = firstPage
		err := a.d.Letters(ctx, dlqindex.Query{Filter: first}, func(deadletters.Letter) error { found++; return nil })
		return found, err
	})
	if err == nil {
		err = a.page(ctx, q)
	}
	if err == nil {
		err = a.add("count: "+q.name, func() (int, error) { return a.d.Count(ctx, dlqindex.Query{Filter: q.filter}) })
	}
	if err == nil {
		err = a.add("groups: "+q.name, func() (int, error) {
			groups, err := a.d.Groups(ctx, dlqindex.Query{Filter: q.filter})
			return len(groups), err
		})
	}
	if err != nil {
		return err
	}
	return a.add("map: "+q.name, func() (int, error) {
		cells, err := a.d.Cells(ctx, dlqindex.Query{Filter: q.filter}, mapColumns, mapRows)
		return len(cells.Each), err
	})
}

// page requests the second page of a filter, the newest dead letters first. If there is no second page, it requests the
// first.
func (a *asker) page(ctx context.Context, q question) error {
	query := dlqindex.Query{Filter: q.filter, Newest: true}
	query.Limit = pageSize
	first, err := a.d.Page(ctx, query, nil)
	if err != nil {
		return err
	}
	return a.add("page: "+q.name, func() (int, error) {
		page, err := a.d.Page(ctx, query, first.Next)
		return len(page.Letters), err
	})
}

func groupOf(i int) string {
	code, stage, message := causes(i)
	return deadletters.Fingerprint(code, stage, deadletters.NormaliseFor(fmt.Sprintf("P-%d", i), message))
}

func median(question func() (int, error)) (answer, error) {
	var took, worked []float64
	var a answer
	for i := range rounds {
		start := time.Now()
		before, _ := spent()
		found, err := question()
		if err != nil {
			return a, err
		}
		after, _ := spent()
		passed := time.Since(start)
		took = append(took, float64(passed.Microseconds())/1000)
		worked = append(worked, float64((after-before).Microseconds())/1000)
		if a.Found = found; passed > slow && i+1 >= slowRounds {
			break
		}
	}
	slices.Sort(took)
	slices.Sort(worked)
	a.Milliseconds, a.ProcessorMilliseconds = took[len(took)/2], worked[len(worked)/2]
	return a, nil
}
