package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one error in a configuration.
type Fault struct {
	// Line and Column are the position in the file, from 1. Both are 0 if the value came from the environment.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Variable is the environment variable that holds the value, or "" if the file holds it.
	Variable string `json:"variable,omitempty"`
	// Path is the key, such as pipeline.retry_policy.tiers[1], or "" for the whole file.
	Path string `json:"path,omitempty"`
	// Message describes the error.
	Message string `json:"message"`
	// Fix describes what to do about it.
	Fix string `json:"fix,omitempty"`
}

// Text formats the fault on one line: "name:line:column: path: message; fix". A fault of an environment variable begins
// with the name of the variable instead.
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

// maxFaults is the largest number of listed faults. A file with more is not a pipeline file, or repeats one mistake.
const maxFaults = 100

// Faults is an error that lists every fault of one configuration. Faults of the file come first, sorted by line. Beyond a
// hundred, the last entry only counts the remaining faults.
//
//nolint:errname // the name is part of the contract between the packages
type Faults struct {
	Name string  // the file name that the caller passed
	List []Fault // never empty
	more int     // number of faults that are not in the list
}

// Error returns one fault per line.
func (f *Faults) Error() string {
	lines := make([]string, len(f.List))
	for i, fault := range f.List {
		lines[i] = fault.Text(f.Name)
	}
	return strings.Join(lines, "\n")
}

// add appends a fault unless the list already contains it.
func (f *Faults) add(fault Fault) {
	switch {
	case slices.Contains(f.List, fault):
	case f.full():
		f.more++
	default:
		f.List = append(f.List, fault)
	}
}

// full reports whether the list is full. Further faults are only counted, so they need no message.
func (f *Faults) full() bool { return len(f.List) >= maxFaults }

// sort puts the faults of the file first, by line and column, and then the faults of environment variables.
func (f *Faults) sort() {
	slices.SortStableFunc(f.List, func(a, b Fault) int {
		return cmp.Or(
			strings.Compare(a.Variable, b.Variable),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}

// err returns f, or nil if there is no fault.
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

// show quotes and shortens a value for a message.
func show(text string) string { return fmt.Sprintf("%q", cut(text, 60)) }

// maxPath is the longest part of a key that a message shows. Every known key is shorter.
const maxPath = 200

// cut shortens a text to the given number of characters.
func cut(text string, longest int) string {
	if len(text) <= longest { // bytes
		return text
	}
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// place is the position of a value, in the file or in an environment variable.
type place struct {
	line, column int    // of the value
	keyLine      int    // of the key, for faults about absent keys below it
	keyColumn    int    //
	variable     string // the environment variable, or "" for a value of the file
}

// origins records the position of each path, and the values that could not be read.
type origins struct {
	places     map[string]place
	unreadable map[string]bool
	above      map[string]bool // mappings that contain a written key
	around     map[string]bool // mappings and lists that contain an unreadable value
}

func newOrigins() *origins {
	return &origins{
		places:     map[string]place{"": {line: 1, column: 1, keyLine: 1, keyColumn: 1}},
		unreadable: map[string]bool{}, above: map[string]bool{}, around: map[string]bool{},
	}
}

// longestPath is the longest path whose ancestors origins records. A longer path belongs to an unknown key.
const longestPath = 4096

// note records the position of a path.
func (o *origins) note(path string, at place) {
	o.places[path] = at
	ancestors(path, ".", o.above)
}

// markUnreadable records that a path could not be read.
func (o *origins) markUnreadable(path string) {
	o.unreadable[path] = true
	ancestors(path, ".[", o.around)
}

// ancestors adds the ancestors of a path, nearest first, and stops at the first one that is already present.
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

// explicit reports whether the file or the environment sets path itself.
func (o *origins) explicit(path string) bool {
	_, ok := o.places[path]
	return ok
}

// nearest returns the position of path, or of its nearest ancestor that was written.
func (o *origins) nearest(path string) place {
	for {
		if at, ok := o.places[path]; ok {
			return at
		}
		path = parent(path)
	}
}

// usable reports whether a rule about path can be checked. The value, its ancestors and its descendants must all have
// been read.
func (o *origins) usable(path string) bool { return o.readable(path) && !o.around[path] }

// readable reports whether path and its ancestors could be read. Values below path may be unreadable.
func (o *origins) readable(path string) bool {
	for ; ; path = parent(path) {
		if o.unreadable[path] {
			return false
		}
		if path == "" {
			return true
		}
	}
}

// parent returns the path without its last key or index.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Position returns the position of a key: its line and column in the file, or the environment variable that overrides
// it. A key that was not written has the position of its nearest written ancestor. Other packages call Position to
// report a fault in a value. path has the form enrich[0].http.url.
func (c Config) Position(path string) (line, column int, variable string) {
	if c.origins == nil {
		return 0, 0, ""
	}
	at := c.origins.nearest(path)
	return at.line, at.column, at.variable
}

// written reports whether path or a key below it was written.
func (o *origins) written(path string) bool { return o.explicit(path) || o.above[path] }

// join returns the path of a key below a mapping.
func join(path, name string) string {
	if name == "" {
		name = `""` // the empty key, which a mapping with free keys may have
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// entry returns the path of an entry of a list.
func entry(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
