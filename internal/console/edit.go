package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

const (
	// maxEdited is the largest value in bytes that can be edited on a page. A form is up to three times as large.
	maxEdited = 20 << 10
	// maxFields is how many properties a page offers separately.
	maxFields = 60
)

// editView is the page for editing a dead letter, or the preview of an edit.
type editView struct {
	ID, From string // From is the content hash of the bytes that were shown
	Fields   []editField
	Text     string // the whole value

	Preview *replay.Edited // of the typed text; nil before the preview
	Patch   string         // JSON Patch (RFC 6902), in a preview
}

// editField is a property with a single value.
type editField struct {
	Path    string // JSON Pointer (RFC 6901)
	Was     string // as JSON
	Text    string // as a person writes it
	Refused bool   // today's transform refuses it
}

// Name returns the name of the property for people.
func (f editField) Name() string { return strings.TrimPrefix(f.Path, "/properties/") }

// editRoutes lists the pages that lead to an edit.
func editRoutes() []route {
	return []route{showing("/edit/{id}", nil, (*Console).editPage)}
}

func (c *Console) editPage(ctx context.Context, q query) (page, error) {
	of, err := c.letter(ctx, q)
	if err != nil {
		return page{}, err
	}
	v, err := newEditView(&of.Letter)
	if err != nil {
		return page{}, err
	}
	out := c.blank("/", "Edit "+of.Letter.ID)
	out.Fresh, out.Edit = of.Fresh, v
	return out, nil
}

// newEditView offers the properties of a feature, and its whole value.
func newEditView(l *dlq.DetailJSON) (*editView, error) {
	if l.Value == nil || len(*l.Value) > maxEdited {
		return nil, &fault{exit: cli.ExitNothing, text: fmt.Sprintf("a page edits text of at most %d bytes; use the command: replayer edit %s", maxEdited, l.ID)}
	}
	v := &editView{ID: l.ID, From: l.ContentHash, Text: *l.Value}
	var feature struct{ Properties map[string]json.RawMessage }
	if json.Unmarshal([]byte(*l.Value), &feature) != nil {
		return v, nil //nolint:nilerr // what is no feature is edited as a whole
	}
	refused := ""
	if l.Refused != nil {
		refused = l.Refused.Path
	}
	for name, value := range feature.Properties {
		path := "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if value[0] != '{' && value[0] != '[' && oneLine(path) && oneLine(written(value)) {
			v.Fields = append(v.Fields, editField{Path: path, Was: string(value), Text: written(value), Refused: path == refused})
		}
	}
	slices.SortFunc(v.Fields, func(a, b editField) int {
		if a.Refused != b.Refused {
			return map[bool]int{true: -1, false: 1}[a.Refused]
		}
		return strings.Compare(a.Path, b.Path)
	})
	v.Fields = v.Fields[:min(len(v.Fields), maxFields)]
	return v, nil
}

// oneLine reports whether an input of a form returns a text unchanged.
func oneLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// written returns a single value as a person writes it: a text without its quotes.
func written(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return text
	}
	return string(value)
}

// retyped converts what a person entered for a value to JSON. A text stays a text. A number, truth value or null
// becomes a text only if the new text is not one of them.
func retyped(was json.RawMessage, text string) json.RawMessage {
	single := json.RawMessage(strings.TrimSpace(text))
	if was[0] != '"' && json.Valid(single) && single[0] != '{' && single[0] != '[' {
		return single
	}
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted
}

// step is one operation of a JSON Patch.
type step struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// typed converts the input for a dead letter to a JSON Patch: single properties, or the whole value.
func typed(form url.Values) ([]byte, error) {
	if text := strings.ReplaceAll(form.Get("value"), "\r\n", "\n"); text != "" {
		if err := json.Unmarshal([]byte(text), new(json.RawMessage)); err != nil {
			return nil, usage("the value is not JSON: %w", err)
		}
		return json.Marshal([]step{{"replace", "", json.RawMessage(text)}})
	}
	steps := []step{}
	for name, values := range form {
		path, is := strings.CutPrefix(name, "to:")
		was := json.RawMessage(form.Get("was:" + path))
		if !is || !json.Valid(was) || len(values) != 1 || values[0] == written(was) {
			continue
		}
		steps = append(steps, step{"replace", path, retyped(was, values[0])})
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.Path, b.Path) })
	if len(steps) == 0 {
		return nil, usage("the value is unchanged")
	}
	return json.Marshal(steps)
}

// previewEdit shows what an edit would change, and what today's transform returns for the result. It changes nothing.
func (c *Console) previewEdit(w http.ResponseWriter, r *http.Request) error {
	text, err := typed(r.PostForm)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	v := &editView{ID: id, From: r.PostForm.Get("from"), Patch: string(text)}
	options, err := v.options()
	if err != nil {
		return err
	}
	err = c.changes.service.PreviewEdit(r.Context(), ofOne(id), options, func(e replay.Edited) error {
		v.Preview = &e
		return nil
	})
	if err == nil && v.Preview == nil {
		err = &fault{exit: cli.ExitNothing, text: "there is no dead letter " + id}
	}
	if err != nil {
		return err
	}
	out := c.blank("/", "Edit "+id)
	out.Edit = v
	c.write(w, r, http.StatusOK, out)
	return nil
}

func ofOne(id string) deadletters.Filter { return deadletters.Filter{IDs: []string{id}} }

// options returns what the edit starts from, and the edit itself.
func (v *editView) options() (replay.EditOptions, error) {
	made, err := rewrite.New(rewrite.Spec{Patch: json.RawMessage(v.Patch)})
	if err != nil {
		return replay.EditOptions{}, usage("%w", err)
	}
	if v.From == "" {
		return replay.EditOptions{}, usage("the form does not name the bytes it starts from; load the page again")
	}
	return replay.EditOptions{Rewrite: made, From: v.From}, nil
}

// doEdit executes the edit that was shown. It is refused if somebody has edited the dead letter since.
func (c *Console) doEdit(r *http.Request, said consent) (string, error) {
	v := editView{ID: r.PathValue("id"), From: r.PostForm.Get("from"), Patch: r.PostForm.Get("patch")}
	options, err := v.options()
	if err != nil {
		return "", err
	}
	return c.begin(r.Context(), "edit", ofOne(v.ID), "", said, func(ctx context.Context, call operation.Call) error {
		options.Call, options.Confirm = call, said.confirm
		options.ContinueCommand = nil // an edit of one dead letter leaves nothing to continue
		_, err := c.changes.service.Edit(ctx, ofOne(v.ID), options)
		return err
	})
}
