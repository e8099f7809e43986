package config

import "strings"

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

// near gives the place of path or of the nearest key above it that was written.
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
