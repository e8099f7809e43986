package story

import (
	"fmt"
	"strings"
)

// Failure describes a world that broke a promise.
type Failure struct {
	Plan       string
	Violations []string
	Story      string
	Journeys   []string // of the records concerned
	Output     string   // of the process, apart from its result
	Again      string   // the command that runs the plan again
}

const (
	mostViolations = 12
	mostOutput     = 4_000 // bytes from the start, which show why a process ended
)

// String formats the failure.
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
	part("broken promises", text)
	part("the plan", f.Plan)
	part("what happened", f.Story)
	for _, journey := range f.Journeys {
		part("journey of a record", journey)
	}
	part("output", f.Output[:min(len(f.Output), mostOutput)])
	part("run again", f.Again)
	return b.String()
}
