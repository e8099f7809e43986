package console

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/status"
)

//go:embed page/*.html page/*.css page/*.js page/*.woff2 page/world.txt
var pageFiles embed.FS

// fontType is the type of the font. Browsers may cache it, because it never changes.
const fontType = "font/woff2"

// assets are the files that pages load, and their types. They contain no data.
func assets() map[string]string {
	const script = "text/javascript; charset=utf-8"
	return map[string]string{"/style.css": "text/css; charset=utf-8", "/live.js": script, "/keys.js": script, "/draw.js": script, "/world.txt": "text/plain; charset=utf-8", "/inter.woff2": fontType}
}

// The least time in milliseconds after which a page refreshes itself, and the least multiple of the time that its answer
// took.
const (
	liveHome  = 5000
	liveWork  = 1500
	liveTimes = 10
)

const (
	pageRows   = 50       // dead letters on a page
	pageValues = 12       // refused values of a group on a page
	shownValue = 64 << 10 // bytes of a value that a page shows
	shownBytes = 1 << 10  // of a value, as numbers
	shownLine  = 8 << 10  // characters of a message or header: a browser takes seconds to break a word of 50,000
	drawnShape = 512 << 10
)

// pageRoutes lists the pages for people. Each shows the answers of routes with the same parameters.
func pageRoutes() []route {
	return []route{
		showing("/{$}", append(filterParams(), orderParam(), cursorParam(), param{"groups", "next of the groups of the previous page", text, false}), (*Console).homePage),
		showing("/map", filterParams(), (*Console).mapPage),
		showing("/dead-letters/{id}", nil, (*Console).letterPage),
		showing("/replays", nil, (*Console).replaysPage),
		showing("/replays/{id}", outcomeParams(), (*Console).replayPage),
		showing("/audit", auditParams(), (*Console).auditPage),
	}
}

// page is the data of the template.
type page struct {
	DLQ      string
	Title    string // of the content of the page
	Pipeline bool   // there are replays and an audit topic
	At       string // the path that the navigation marks
	Fresh    Freshness
	Query    url.Values // of the address

	State *state // nil unless it shows the state of a pipeline
	Stats dlq.StatsJSON
	*lists

	Letter          *dlq.DetailJSON // of the page of one dead letter
	Value           shownText
	Shape, Repaired string // its geometry as GeoJSON, and as today's transform repairs it; empty if there is none to draw
	Map             *mapView
	Change          *changeView
	Edit            *editView
	Replays         *ReplaysAnswer
	Replay          *ReplayAnswer
	Outcomes        *OutcomesAnswer // of a replay's dead letters; nil if it put none back
	Audit           *AuditAnswer

	Who       access.Identity // the reader
	CanChange bool
	CanEdit   bool
	CanExport bool
	Masked    bool        // fields of values are hidden from the reader
	SignIn    *signInView // instead of everything else
	Token     string      // of the forms
	Live      int         // milliseconds after which the browser asks again; 0 is never
	ActError  string      // error that ended an operation of this process

	Error *ErrorBody // instead of everything else
}

// Pending returns the number of pending dead letters.
func (p page) Pending() int { return p.Stats.Statuses[string(deadletters.Pending)] }

// Results lists the possible results of a dead letter of a replay.
func (page) Results() []states.LetterResult { return states.LetterResults() }

// Statuses lists the statuses to choose from.
func (page) Statuses() []deadletters.Status { return deadletters.Statuses() }

// To returns the address of a page with the filters of this one and with changes to them: names and values alternate; an
// empty value removes a filter. A list begins at its first page, and only lists have an order.
func (p page) To(path string, set ...string) string {
	v := query{values: p.Query}.filled("cursor").values
	if path != "/" {
		v.Del("order")
	}
	for pair := range slices.Chunk(set, 2) {
		if v.Del(pair[0]); pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	return path + "?" + v.Encode()
}

// Near returns where a click on a cluster leads: to its dead letter, to a list if no map could divide it, or to a closer
// map.
func (p page) Near(m cluster) string {
	switch {
	case m.ID != "":
		return "/dead-letters/" + url.PathEscape(m.ID)
	case m.BBox.North-m.BBox.South < 1e-7:
		return p.To("/", "bbox", m.BBox.String())
	}
	return p.To("/map", "bbox", m.BBox.String())
}

func (c *Console) letterPage(ctx context.Context, q query) (page, error) {
	of, err := c.letter(ctx, q)
	if err != nil {
		return page{}, err
	}
	out := c.blank("/", of.Letter.ID)
	out.Fresh, out.Letter, out.State = of.Fresh, &of.Letter, c.state(ctx)
	out.Shape, out.Repaired = shapeOf(of.Letter.Feature), shapeOf(of.Letter.Repaired)
	if of.Letter.Value != nil {
		out.Value = mark(*of.Letter.Value, cmp.Or(of.Letter.Refused, &dryrun.Refused{}).Path)
	}
	return out, nil
}

// hexDump formats the first bytes of a value as numbers.
func hexDump(l *dlq.DetailJSON) string {
	var value []byte
	if l.Value != nil {
		value = []byte(*l.Value)
	} else if l.ValueBase64 != nil {
		value, _ = base64.StdEncoding.DecodeString(*l.ValueBase64) // this server encoded it
	}
	return hex.Dump(value[:min(len(value), shownBytes)])
}

// shapeOf returns the geometry of a feature if a browser can draw it.
func shapeOf(feature []byte) string {
	var f struct{ Geometry json.RawMessage }
	if json.Unmarshal(feature, &f) != nil || !bytes.HasPrefix(f.Geometry, []byte("{")) || len(f.Geometry) > drawnShape {
		return ""
	}
	return string(f.Geometry)
}

func (c *Console) replaysPage(ctx context.Context, q query) (page, error) {
	of, err := c.replays(ctx, q)
	out := c.blank("/replays", "Replays")
	out.Fresh, out.Replays = of.Fresh, &of
	return out, err
}

func (c *Console) replayPage(ctx context.Context, q query) (page, error) {
	asked, err := q.outcomes()
	if err != nil {
		return page{}, err
	}
	asked.Limit = pageRows
	of, err := c.askReplay(ctx, q.id, asked)
	if err != nil && !errors.Is(err, states.ErrNoReplay) {
		return page{}, err
	}
	out, err := c.acting(q.id, of.ReplayAnswer, err)
	if of.Replay.Attempted+of.Replay.Duplicates > 0 {
		out.Query, out.Outcomes = q.values, &OutcomesAnswer{of.Fresh, of.letters}
	}
	return out, err
}

// acting shows an operation of this process of which no topic has a record yet, or why it did not begin.
func (c *Console) acting(id string, report ReplayAnswer, unknown error) (page, error) {
	out := c.blank("/replays", id)
	out.Fresh, out.Replay = report.Fresh, &report
	var a *task
	if c.changes != nil {
		a = c.changes.act(id)
	}
	switch {
	case a != nil && a.ended() && a.err != nil && unknown != nil:
		return page{}, a.err
	case a != nil && !a.ended():
		report.Replay.ReplayID = id
		out.Live = liveWork
		return out, nil
	case unknown != nil:
		return page{}, unknown
	case a != nil && a.err != nil:
		_, said := c.explain(a.err)
		out.ActError = said.Error()
	}
	if report.Replay.UnderWay > 0 || report.Replay.Job != nil && !report.Replay.Job.State.Ended() {
		out.Live = liveWork
	}
	return out, nil
}

// auditPage lists operations, or the events of one operation or dead letter.
func (c *Console) auditPage(ctx context.Context, q query) (page, error) {
	asked := q.filled()
	if asked.get("limit") == "" {
		asked.values.Set("limit", strconv.Itoa(defaultLimit))
	}
	if asked.get("operation") == "" && asked.get("dead_letter") == "" {
		asked.values.Set("operations", "true")
	}
	of, err := c.audit(ctx, asked)
	out := c.blank("/audit", "Audit")
	out.Fresh, out.Audit, out.Query = of.Fresh, &of, q.values
	return out, err
}

// blank returns a page without content.
func (c *Console) blank(at, title string) page {
	return page{DLQ: c.letters.Topic(), Title: title, Pipeline: c.pipeline != nil, At: at}
}

// failed answers with an error: in JSON to programs, as a page to browsers.
func (c *Console) failed(w http.ResponseWriter, r *http.Request, err error) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		c.refuse(w, err)
		return
	}
	body, status := c.errorOf(err)
	p := c.blank("", "No answer")
	p.Error = &body
	c.write(w, r, status, p)
}

// write writes a page completely or not at all.
func (c *Console) write(w http.ResponseWriter, r *http.Request, status int, shown page) {
	shown.Who = whoAsks(r.Context())
	shown.CanChange = c.changes != nil && shown.Who.MayChange()
	shown.CanEdit = c.changes != nil && shown.Who.MayEdit() && !c.letters.Alone()
	shown.CanExport, shown.Masked = c.gate.MayExport(shown.Who), c.maskOf(r.Context()) != nil
	if shown.CanChange || shown.Who.SignedIn {
		shown.Token = c.gate.FormToken(w, r, shown.Who)
	}
	var text bytes.Buffer
	if err := c.shapes.ExecuteTemplate(&text, "page", shown); err != nil {
		c.refuse(w, fmt.Errorf("write the page: %w", err))
		return
	}
	send(w, status, "text/html; charset=utf-8", text.Bytes())
}

// words are the functions of the template. They clean text of records, because characters that change the direction
// could disguise it.
func (c *Console) words() template.FuncMap {
	return template.FuncMap{
		"line":  func(text string) string { return cli.CutText(cli.CleanText(text, cli.OneLine), shownLine) },
		"path":  url.PathEscape,
		"hex":   hexDump,
		"count": thousands, "count64": func(n int64) string { return thousands(int(n)) },
		"keep":     func(text string) string { return cli.CleanText(strings.ToValidUTF8(text, "\uFFFD"), cli.KeepLines) },
		"text":     func(encoded json.RawMessage) string { return string(encoded) },
		"time":     dlq.TimeText,
		"percent":  percent,
		"middle":   middle,
		"orders":   jobs.Orders,
		"title":    capital,
		"short":    status.ShortMapping,
		"spaced":   func(r states.LetterResult) string { return strings.ReplaceAll(string(r), "_", " ") },
		"letters":  letterCount,
		"reached":  func(j *control.Job) int { return j.Letters - j.NotReached },
		"said":     func(j *control.Job, why string) bool { return j != nil && j.Why == why },
		"undoable": func(j *control.Job) bool { return !j.IsReplay() && j.State.Ended() && j.Done > 0 },
		"changes":  func(a audit.Action) bool { return a.Done[audit.Replayed] == 0 }, // sent records cannot be undone
		"span":     func(seconds int64) string { return span(time.Duration(seconds) * time.Second) },
		"seconds":  func(since *time.Time) string { return thousands(int(max(0, c.now().Sub(*since)).Seconds())) },
		"due": func(at *time.Time) template.HTML {
			text, late := dueText(*at, c.now())
			return template.HTML(map[bool]string{true: `<span class="warn">`, false: `<span class="soft">`}[late] + text + "</span>") //nolint:gosec // no text of a record
		},
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

// percent formats a share that is a lower bound; "" if it is unknown.
func percent(share *float64) string {
	switch {
	case share == nil:
		return ""
	case *share >= 0.1:
		return fmt.Sprintf("≥ %.0f %%", math.Floor(*share*100))
	case *share > 0 && *share < 0.0001:
		return "> 0 %"
	}
	return fmt.Sprintf("≥ %.2g %%", *share*100)
}

// capital writes a word with a capital letter.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// middle shortens a long text in its middle.
func middle(text string) string {
	const longest = 96
	runes := []rune(cli.CleanText(text, cli.OneLine))
	if len(runes) <= longest {
		return string(runes)
	}
	return string(runes[:longest/2]) + " … " + string(runes[len(runes)-longest/2:])
}

// thousands writes a number in groups of three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// span formats a duration in its largest unit.
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
