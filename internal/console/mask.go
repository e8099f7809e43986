package console

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// masked replaces values that the reader may not see.
const masked = "masked"

// mask hides fields of values from the reader; nil hides nothing. Messages, headers, keys and requests may repeat any
// value, so they are hidden entirely.
type mask [][]string // members of a path each

// maskOf returns the values that are hidden from the sender of a request.
func (c *Console) maskOf(ctx context.Context) mask { return c.gate.Hides(whoAsks(ctx)) }

// allows refuses requests that could be used to guess hidden values, and answers that would show them.
func (m mask) allows(r route, q query) error {
	if m == nil {
		return nil
	}
	places := slices.ContainsFunc(m, func(rule []string) bool {
		return slices.Contains(rule, "geometry") || slices.Contains(rule, "coordinates")
	})
	for name, tells := range map[string]bool{"text": true, "header": true, "feature": true, "bbox": places} {
		if tells && slices.ContainsFunc(q.values[name], func(v string) bool { return v != "" }) {
			return hidden("filters by " + name)
		}
	}
	if places && (r.path == "/map" || r.path == "/api/map") {
		return hidden("the map")
	}
	if r.path == valuePath {
		return hidden("the original bytes")
	}
	return nil
}

// filter refuses filters of a form by which somebody could guess hidden values.
func (m mask) filter(f deadletters.Filter) error {
	q := query{values: url.Values{"text": {f.Text}, "feature": f.Features, "header": {}}}
	if len(f.Headers) > 0 {
		q.values.Set("header", "x")
	}
	if f.BBox != nil {
		q.values.Set("bbox", "x")
	}
	return m.allows(route{}, q)
}

func hidden(what string) error {
	return &fault{exit: cli.ExitRefused, status: http.StatusForbidden, code: masked, text: what + ": fields of the values are masked for your role; ask a person with the role edit"}
}

// single reports whether the value at a path may be shown: it is a single value, and no rule covers it.
func (m mask) single(path, text string) bool {
	return path != "" && !m.covers(path) && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[")
}

// covers reports whether a path in a value is hidden. A rule applies wherever it occurs, also in collections and
// envelopes. Numbers in a path may be indexes of lists, which rules omit.
func (m mask) covers(path string) bool {
	members := access.PathMembers("/" + strings.TrimPrefix(path, "/"))
	if m.within(members) {
		return true
	}
	isIndex := func(name string) bool { return strings.Trim(name, "0123456789") == "" }
	var names mask
	for _, rule := range m {
		names = append(names, slices.DeleteFunc(slices.Clone(rule), isIndex))
	}
	return names.within(slices.DeleteFunc(members, isIndex))
}

// within reports whether a rule is a part of a path.
func (m mask) within(path []string) bool {
	for i := range path {
		for _, rule := range m {
			if i+len(rule) <= len(path) && slices.Equal(path[i:i+len(rule)], rule) {
				return true
			}
		}
	}
	return false
}

// value hides fields of JSON. Text that is not JSON is hidden entirely.
func (m mask) value(text []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.Decode(new(any)) != io.EOF {
		return json.RawMessage(`"` + masked + `"`)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(m.under(v, nil)) // a decoded value can be encoded
	return bytes.TrimSpace(out.Bytes())
}

// under hides fields of a part of a value.
func (m mask) under(v any, path []string) any {
	for _, rule := range m {
		if len(path) >= len(rule) && slices.Equal(path[len(path)-len(rule):], rule) {
			return masked
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = m.under(member, append(path, name))
		}
	case []any:
		for i, element := range v {
			v[i] = m.under(element, path)
		}
	}
	return v
}

// hide replaces texts that are not empty.
func hide(texts ...*string) {
	for _, text := range texts {
		if *text != "" {
			*text = masked
		}
	}
}

func (m mask) letter(l *dlq.LetterJSON) {
	if m == nil {
		return
	}
	if l.Value != nil {
		text := string(m.value([]byte(*l.Value)))
		l.Value = &text
	}
	if l.Key != nil || l.KeyBase64 != nil {
		text := masked
		l.Key = &text
	}
	l.KeyBase64, l.ValueBase64, l.Error.Request, l.Error.Response, l.Pointer = nil, nil, nil, nil, nil
	hide(&l.Error.Message, &l.Error.CausedBy, &l.ContentHash, &l.FeatureID)
	for i := range l.Problems {
		hide(&l.Problems[i])
	}
}

func (m mask) detail(d *dlq.DetailJSON) {
	if m == nil {
		return
	}
	m.letter(&d.LetterJSON)
	for _, text := range []*json.RawMessage{&d.Feature, &d.Repaired, &d.Text} {
		if len(*text) > 0 {
			*text = m.value(*text)
		}
	}
	for i := range d.Headers {
		text := masked
		d.Headers[i].Value, d.Headers[i].ValueBase64, d.Headers[i].Number = &text, nil, nil
	}
	if d.Today != nil {
		hide(&d.Today.Message)
	}
	for _, other := range d.Deployed {
		if other.Verdict != nil {
			hide(&other.Verdict.Message)
		}
	}
	if r := d.Refused; r != nil && !m.single(r.Path, r.Value) {
		r.Value, r.Place = masked, nil
	}
	hide(&d.DecodeError, &d.HopsError, &d.Kept, &d.ValueMissing)
	m.events(d.Hops)
}

// each changes the elements of a list, if something is hidden.
func each[T any](m mask, list []T, change func(*T)) {
	for i := range list {
		if m != nil {
			change(&list[i])
		}
	}
}

func (m mask) groups(groups []dlq.GroupJSON) {
	each(m, groups, func(g *dlq.GroupJSON) {
		hide(&g.Message, &g.Example.Message, &g.Example.CausedBy)
		if g.Note != nil {
			hide(&g.Note.Text)
		}
	})
}

func (m mask) events(events []audit.Event) {
	each(m, events, func(e *audit.Event) { hide(&e.Message, &e.FeatureID, &e.ContentHash, &e.Before, &e.After, &e.Filter) })
}

func (m mask) outcomes(outcomes []plan.Outcome) {
	each(m, outcomes, func(o *plan.Outcome) { hide(&o.Message, &o.Change, &o.Shape) })
}

// job hides the command that continues an operation, because it has filters.
func (m mask) job(j *control.Job) {
	if m != nil && j != nil {
		hide(&j.Command)
	}
}

func (m mask) actions(actions []audit.Action) {
	each(m, actions, func(a *audit.Action) {
		hide(&a.Filter)
		if a.Operation == "" { // such as a note
			hide(&a.What)
		}
	})
}

// values hides refused values.
func (m mask) values(values []dlq.Value) {
	each(m, values, func(v *dlq.Value) {
		if !m.single(v.Path, v.Text) {
			hide(&v.Text)
		}
	})
}
