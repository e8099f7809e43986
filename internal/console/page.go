package console

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

//go:embed page/pages.html
var pageText string

//go:embed page/style.css
var styleSheet []byte

const (
	pageRows   = 50       // dead letters on a page
	shownValue = 64 << 10 // bytes of a value that a page shows
)

// pageRoutes lists the pages for people. Each shows the answers of routes with the same parameters.
func pageRoutes() []route {
	return []route{
		answering("/{$}", "", append(filterParams(), orderParam(), cursorParam()), (*Console).homePage),
		answering("/letters/{id}", "", nil, (*Console).letterPage),
	}
}

// page is what the template shows.
type page struct {
	DLQ   string
	Fresh Freshness
	Query url.Values // of the address

	Stats   dlq.StatsJSON
	Groups  GroupsAnswer
	Letters LettersAnswer
	Letter  *dlq.DetailJSON // of the page of one dead letter

	Error *ErrorBody // instead of all else
}

// Pending returns how many dead letters are pending.
func (p page) Pending() int { return p.Stats.Statuses[string(deadletters.Pending)] }

// Statuses lists the statuses to choose from.
func (page) Statuses() []deadletters.Status { return deadletters.Statuses() }

// With returns the address of the first page with another value of a parameter; an empty value removes it.
func (p page) With(name, value string) string {
	v := url.Values{}
	for key, values := range p.Query {
		if key != "cursor" && key != name {
			v[key] = values
		}
	}
	if value != "" {
		v.Set(name, value)
	}
	return "/?" + v.Encode()
}

func (c *Console) homePage(ctx context.Context, q query) (page, error) {
	listed := query{values: url.Values{}}
	for name, values := range q.values {
		if values[0] != "" { // a form sends its empty fields
			listed.values[name] = values
		}
	}
	selected, after, err := listed.page(c.now())
	if err != nil {
		return page{}, err
	}
	selected.Limit = pageRows
	out := page{DLQ: c.letters.Topic(), Query: q.values}
	if out.Fresh, err = c.index.fresh(ctx); err != nil {
		return page{}, err
	}
	stats, err := c.letters.Stats(ctx)
	if err != nil {
		return page{}, err
	}
	out.Stats = dlq.NewStatsJSON(stats, c.now())
	if out.Groups, err = c.groupsOf(ctx, out.Fresh, dlqindex.Query{Filter: deadletters.Filter{Limit: defaultLimit}}); err != nil {
		return page{}, err
	}
	out.Letters, err = c.pageOf(ctx, out.Fresh, selected, after)
	return out, err
}

func (c *Console) letterPage(ctx context.Context, q query) (page, error) {
	of, err := c.letter(ctx, q)
	return page{DLQ: c.letters.Topic(), Fresh: of.Fresh, Letter: &of.Letter}, err
}

// pages returns the handler of a page.
func (c *Console) pages(r route) http.Handler {
	shapes := template.Must(template.New("").Funcs(c.words()).Parse(pageText))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), answerTimeout)
		defer cancel()
		status := http.StatusOK
		var shown any
		q, err := r.parse(req)
		if err == nil {
			shown, err = r.answer(c, ctx, q)
		}
		if err != nil {
			body, code := c.errorOf(err)
			status, shown = code, page{DLQ: c.letters.Topic(), Error: &body}
		}
		var text bytes.Buffer
		if err := shapes.ExecuteTemplate(&text, "page", shown); err != nil {
			c.refuse(w, fmt.Errorf("write the page: %w", err))
			return
		}
		send(w, status, "text/html; charset=utf-8", text.Bytes())
	})
}

// words are the functions of the template. Text of records is cleaned: a change of direction could make it read otherwise.
func (c *Console) words() template.FuncMap {
	return template.FuncMap{
		"line":  func(text string) string { return cli.CleanText(text, cli.OneLine) },
		"path":  url.PathEscape,
		"count": thousands,
		"span":  func(seconds int64) string { return span(time.Duration(seconds) * time.Second) },
		"ago": func(text string) string {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return text
			}
			return span(c.now().Sub(at)) + " ago"
		},
		"value": func(text *string) string {
			if len(*text) > shownValue {
				return cli.CleanText((*text)[:shownValue], cli.KeepLines) + "\n…"
			}
			return cli.CleanText(*text, cli.KeepLines)
		},
	}
}

// thousands writes a number in groups of three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// span writes a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d d", int(d.Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d s", int(max(d, 0).Seconds()))
	}
}
