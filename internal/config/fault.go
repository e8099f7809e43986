package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	// Line and Column say where in the file, from 1; both are 0 when the value came from the environment.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Variable is the environment variable that the value came from; "" when it came from the file.
	Variable string `json:"variable,omitempty"`
	// Path is the key, such as pipeline.retry_policy.tiers[1]; "" when the file as a whole is meant.
	Path string `json:"path,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Fix says what to do about it.
	Fix string `json:"fix,omitempty"`
}

// Text is the fault on one line: "name:line:column: path: message; fix". A fault of the
// environment begins with the name of the variable instead.
func (f Fault) Text(name string) string {
	var b strings.Builder
	switch {
	case f.Variable != "":
		fmt.Fprintf(&b, "%s: ", f.Variable)
	case f.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", name, f.Line, f.Column)
	default:
		fmt.Fprintf(&b, "%s: ", name)
	}
	if f.Path != "" {
		fmt.Fprintf(&b, "%s: ", cut(f.Path, maxPath))
	}
	b.WriteString(f.Message)
	if f.Fix != "" {
		fmt.Fprintf(&b, "; %s", f.Fix)
	}
	return b.String()
}

// maxFaults is how many faults are listed. A file with more is no pipeline file, or one mistake is repeated.
const maxFaults = 100

// Faults is every fault of one configuration, as an error. Those of the file come first, by line. Beyond a hundred they are
// only counted, in the last entry.
//
//nolint:errname // the name stands in the contract between the packages
type Faults struct {
	Name string  // the file, as it was given
	List []Fault // never empty
	more int     // faults that are not in the list
}

// Error returns one fault per line.
func (f *Faults) Error() string {
	lines := make([]string, len(f.List))
	for i, fault := range f.List {
		lines[i] = fault.Text(f.Name)
	}
	return strings.Join(lines, "\n")
}

// add notes a fault unless the same one is there already.
func (f *Faults) add(fault Fault) {
	switch {
	case slices.Contains(f.List, fault):
	case f.full():
		f.more++
	default:
		f.List = append(f.List, fault)
	}
}

// full reports whether further faults are only counted, so that nobody need look for what to say of them.
func (f *Faults) full() bool { return len(f.List) >= maxFaults }

// sort puts the faults of the file first, by line and column, then those of the environment.
func (f *Faults) sort() {
	slices.SortStableFunc(f.List, func(a, b Fault) int {
		return cmp.Or(
			strings.Compare(a.Variable, b.Variable),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}

// err is nil when there is no fault.
func (f *Faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	f.sort()
	if f.more > 0 {
		f.List = append(f.List, Fault{Message: fmt.Sprintf("%d more faults are not listed", f.more), Fix: "fix these first"})
		f.more = 0
	}
	return f
}

// show cuts a value for a message.
func show(text string) string { return fmt.Sprintf("%q", cut(text, 60)) }

// maxPath is how much of a key is shown: more than any key of this software has.
const maxPath = 200

// cut shortens a text to so many characters.
func cut(text string, longest int) string {
	if len(text) <= longest { // bytes
		return text
	}
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// place is where a value was written: in the file or in an environment variable.
type place struct {
	line, column int    // of the value
	keyLine      int    // of the key, for faults about what is missing below it
	keyColumn    int    //
	variable     string // the environment variable, when there is one
}

// origins remembers where each path was written, and which values could not be read.
type origins struct {
	places map[string]place
	broken map[string]bool
	above  map[string]bool // mappings with something written below them
	cracks map[string]bool // mappings and lists with something broken below them
}

func newOrigins() *origins {
	return &origins{
		places: map[string]place{"": {line: 1, column: 1, keyLine: 1, keyColumn: 1}},
		broken: map[string]bool{}, above: map[string]bool{}, cracks: map[string]bool{},
	}
}

// longestPath bounds the paths above which something is remembered: one that is longer is of an unknown key.
const longestPath = 4096

// note remembers where a path was written.
func (o *origins) note(path string, at place) {
	o.places[path] = at
	ancestors(path, ".", o.above)
}

// crack remembers that a path could not be read.
func (o *origins) crack(path string) {
	o.broken[path] = true
	ancestors(path, ".[", o.cracks)
}

// ancestors adds what lies above a path, from the nearest on, up to what is known already.
func ancestors(path, marks string, to map[string]bool) {
	if len(path) > longestPath {
		return
	}
	for {
		i := strings.LastIndexAny(path, marks)
		if path = path[:max(i, 0)]; i < 0 || to[path] {
			return
		}
		to[path] = true
	}
}

// byHand reports whether path was written, in the file or the environment.
func (o *origins) byHand(path string) bool {
	_, ok := o.places[path]
	return ok
}

// near returns the place of path or of the nearest key above it that was written.
func (o *origins) near(path string) place {
	for {
		if at, ok := o.places[path]; ok {
			return at
		}
		path = parent(path)
	}
}

// sound reports whether a rule about path can be checked: its value could be read, and so could
// what is above it and below it.
func (o *origins) sound(path string) bool { return o.intact(path) && !o.cracks[path] }

// intact reports whether path and what is above it could be read; values below it may be broken.
func (o *origins) intact(path string) bool {
	for ; ; path = parent(path) {
		if o.broken[path] {
			return false
		}
		if path == "" {
			return true
		}
	}
}

// parent cuts the last key or index from a path.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Position says where a key was written: its line and column in the file, or the environment
// variable that overrides it. A key that was not written has the position of the nearest key
// above it. It serves other packages that find a fault in a value. path is in the form
// enrich[0].http.url.
func (c Config) Position(path string) (line, column int, variable string) {
	if c.origins == nil {
		return 0, 0, ""
	}
	at := c.origins.near(path)
	return at.line, at.column, at.variable
}

// written reports whether path or anything below it was written.
func (o *origins) written(path string) bool { return o.byHand(path) || o.above[path] }

// join is the path of a key below a mapping.
func join(path, name string) string {
	if name == "" {
		name = `""` // the empty key, which a mapping with free keys may have
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// entry is the path of an entry of a list.
func entry(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
