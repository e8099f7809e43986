package config

import (
	"cmp"
	"fmt"
	"slices"
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

// Error gives one fault per line.
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
