package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// The limits of a list.
const (
	defaultLimit = 100
	maxLimit     = 500
)

// query is the parsed content of a request.
type query struct {
	id     string // of the path
	values url.Values
}

func (q query) get(name string) string { return q.values.Get(name) }

// filled returns the query without some of its fields and without empty ones, which a form also sends.
func (q query) filled(without ...string) query {
	out := query{id: q.id, values: url.Values{}}
	for name, values := range q.values {
		if values[0] != "" && !slices.Contains(without, name) {
			out.values[name] = values
		}
	}
	return out
}

// parse reads a request. It refuses parameters that the route does not have, because a mistyped filter would select
// everything.
func (r route) parse(req *http.Request) (query, error) {
	q := query{id: req.PathValue("id")}
	if !utf8.ValidString(q.id) || strings.ContainsRune(q.id, 0) {
		return q, usage("the id in the path is not UTF-8 text")
	}
	values, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return q, usage("read the query: %w", err)
	}
	for name, given := range values {
		at := slices.IndexFunc(r.params, func(p param) bool { return p.name == name })
		if at < 0 {
			return q, usage("there is no parameter %q here; there are: %s", name, r.names())
		}
		if err := r.params[at].check(given); err != nil {
			return q, err
		}
	}
	q.values = values
	return q, nil
}

func (r route) names() string {
	var out []string
	for _, p := range r.params {
		out = append(out, p.name)
	}
	return strings.Join(out, ", ")
}

// check checks the values of a parameter by its kind.
func (p param) check(given []string) error {
	if len(given) > 1 && !p.many {
		return usage("%s is given %d times; give it once", p.name, len(given))
	}
	for _, v := range given {
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return usage("%s: %q is not UTF-8 text", p.name, v)
		}
		if p.kind == boolean && v != "true" && v != "false" {
			return usage("%s: %q; use true or false", p.name, v)
		}
	}
	return nil
}

// limit returns the limit of a list.
func (q query) limit() (int, error) {
	if !q.values.Has("limit") {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(q.get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, usage("limit: %q; from 1 to %d", q.get("limit"), maxLimit)
	}
	return n, nil
}

// page reads the selection and the cursor after which the page begins; nil is the first page.
func (q query) page(now time.Time) (dlqindex.Query, *dlqindex.Cursor, error) {
	selected, err := q.selection(now)
	if err != nil || q.get("cursor") == "" {
		return selected, nil, err
	}
	after, err := dlqindex.ParseCursor(q.get("cursor"))
	if err != nil {
		return selected, nil, usage("%w; use next of the previous page", err)
	}
	return selected, &after, nil
}

// selection reads the filters, the limit and the order. Ages are relative to now.
func (q query) selection(now time.Time) (dlqindex.Query, error) {
	v := q.values
	out := dlqindex.Query{Gone: q.get("gone") == "true"}
	out.Filter = deadletters.Filter{
		IDs: v["id"], Codes: v["code"], Groups: v["group"], Features: v["feature"], Pipelines: v["pipeline"], Runs: v["run"], Text: q.get("text"),
	}
	text := deadletters.FilterText{Statuses: v["status"], Headers: v["header"], BBox: q.get("bbox"), Since: q.get("since"), Until: q.get("until")}
	if name, err := text.ReadInto(&out.Filter, now); err != nil {
		return out, usage("%s: %w", name, err)
	}
	var err error
	if out.Limit, err = q.limit(); err != nil {
		return out, err
	}
	switch q.get("order") {
	case "", "oldest":
	case "newest":
		out.Newest = true
	default:
		return out, usage("order: %q; use oldest or newest", q.get("order"))
	}
	if err := out.Check(); err != nil {
		return out, usage("%w", err)
	}
	return out, nil
}
