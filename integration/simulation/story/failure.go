package story

import (
	"fmt"
	"strings"
)

// Failure is what is told of a world that broke a promise.
type Failure struct {
	Plan       string
	Violations []string
	Story      string
	Journeys   []string // of records concerned
	Output     string   // of the process, apart from its result
	Again      string   // the command that plays the plan once more
}

const (
	mostViolations = 12
	mostOutput     = 4_000 // bytes: the start says why a process ended
)

// String is the failure for people.
func (f Failure) String() string {
	var b strings.Builder
	part := func(title, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(&b, "\n--- %s\n%s\n", title, text)
		}
	}
	shown := f.Violations[:min(len(f.Violations), mostViolations)]
	text := strings.Join(shown, "\n")
	if more := len(f.Violations) - len(shown); more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	part("what was broken", text)
	part("the plan", f.Plan)
	part("what happened", f.Story)
	for _, journey := range f.Journeys {
		part("the way of a record", journey)
	}
	part("output", f.Output[:min(len(f.Output), mostOutput)])
	part("once more", f.Again)
	return b.String()
}
