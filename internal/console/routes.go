package console

import (
	"context"
	"net/http"
	"reflect"
)

// kind is the type of the values of a parameter.
type kind string

const (
	text    kind = "string"
	number  kind = "integer"
	boolean kind = "boolean"
)

// param is one parameter of a query.
type param struct {
	name, about string
	kind        kind
	many        bool // it may be repeated; a dead letter matches any of its values
}

// valuePath is the path of the original bytes of a dead letter.
const valuePath = "/api/dead-letters/{id}/value"

// route is one path of the console.
type route struct {
	path       string // {id} stands for the id of a dead letter or replay
	summary    string
	params     []param
	answerType reflect.Type // of the answer in JSON; nil if the answer is not JSON
	exports    bool         // it exports dead letters
	// send writes the answer. If it returns an error, it has written nothing.
	send func(c *Console, w http.ResponseWriter, r *http.Request, q query) error
}

// answering returns a route whose answers have one type.
func answering[T any](path, summary string, params []param, answer func(*Console, context.Context, query) (T, error)) route {
	return route{
		path: path, summary: summary, params: params, answerType: reflect.TypeFor[T](),
		send: func(c *Console, w http.ResponseWriter, r *http.Request, q query) error {
			out, err := answer(c, r.Context(), q)
			if err != nil {
				return err
			}
			return sendJSON(w, http.StatusOK, out)
		},
	}
}

// showing returns the route of a page.
func showing(path string, params []param, show func(*Console, context.Context, query) (page, error)) route {
	return route{path: path, params: params, send: func(c *Console, w http.ResponseWriter, r *http.Request, q query) error {
		began := c.now()
		out, err := show(c, r.Context(), q)
		if err != nil {
			return err
		}
		if out.Live > 0 {
			out.Live = max(out.Live, liveTimes*int(c.now().Sub(began).Milliseconds()))
		}
		c.write(w, r, http.StatusOK, out)
		return nil
	}}
}

// exporting marks a route that exports dead letters.
func (r route) exporting() route {
	r.exports = true
	return r
}

// routes lists all paths with JSON answers and bytes.
func routes() []route {
	return []route{
		answering("/api/stats", "Dead letters by status and day, the oldest pending one, and when retention deletes it", nil, (*Console).stats),
		answering("/api/groups", "Groups of dead letters by cause, the largest first", append(filterParams(), limitParam(), cursorParam()), (*Console).groups),
		answering("/api/dead-letters", "A page of dead letters without their values", append(filterParams(), limitParam(), orderParam(), cursorParam()), (*Console).page).exporting(),
		answering("/api/dead-letters/{id}", "One dead letter with headers, value, the decoded feature, today's verdict and its hops", nil, (*Console).letter).exporting(),
		{path: valuePath, summary: "The original bytes of one dead letter", exports: true, send: (*Console).value},
		answering("/api/flow", "How records move: the group's lag, the records that wait in the retry topics, and which instances run which mapping", nil, (*Console).flow),
		answering("/api/replays", "Replays that are in progress or stopped, and who changes dead letters", nil, (*Console).replays),
		answering("/api/replays/{id}", "What became of the dead letters of one replay", nil, (*Console).replay),
		answering("/api/replays/{id}/dead-letters", "The dead letters of one replay with the outcome of each, by their ids", append(outcomeParams(), limitParam()), (*Console).outcomes),
		answering("/api/audit", "What operators did, the newest first", append(auditParams(), limitParam()), (*Console).audit),
		answering("/api/map", "Where the selected dead letters lie: clusters by a grid over bbox, or over all of them, as GeoJSON", filterParams(), (*Console).clusters),
	}
}

// filterParams are the filters of the commands, under the names of their flags.
func filterParams() []param {
	return []param{
		{"id", "ids of dead letters", text, true},
		{"code", "error codes", text, true},
		{"group", "ids of groups", text, true},
		{"status", "statuses", text, true},
		{"feature", "ids of features", text, true},
		{"pipeline", "pipelines that wrote them", text, true},
		{"run", "ids of runs", text, true},
		{"header", "a header, as name or name=value", text, true},
		{"bbox", "west,south,east,north that the feature meets, in the coordinates of the source", text, false},
		{"text", "text in message, key, feature id or value, verbatim", text, false},
		{"since", "died at or after this: a time, a date, or an age such as 36h or 7d", text, false},
		{"until", "died before this: a time, a date, or an age", text, false},
		{"gone", "only dead letters that the topic no longer has", boolean, false},
	}
}

func auditParams() []param {
	return []param{
		{"dead_letter", "only events about the dead letter with this id, and the consumer's events about its record", text, false},
		{"operations", "one entry for each command of an operator instead of its events, with how many dead letters it changed", boolean, false},
		{"operation", "only events of this replay or other operation", text, false},
		{"since", "only events at or after this: a time, a date, or an age such as 36h or 7d", text, false},
		cursorParam(),
	}
}

func outcomeParams() []param {
	return []param{{"outcome", "waiting, reprocessed, failed_again, skipped or sent_elsewhere: only dead letters of which this became", text, false}, cursorParam()}
}

func limitParam() param {
	return param{"limit", "largest number of entries, from 1 to 500; 100 by default", number, false}
}
func orderParam() param {
	return param{"order", "oldest (default) or newest: which died first", text, false}
}
func cursorParam() param { return param{"cursor", "next of the previous page", text, false} }
