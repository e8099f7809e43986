package main

import (
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// meant returns the word of a closed list that a word was probably meant to be; "" when it is one of them, or near to none.
func meant(word string, list []string) string {
	if slices.Contains(list, word) {
		return ""
	}
	return config.Nearest(word, list)
}

// filter makes the flags absolute, and warns of a code that Switchback does not have. It is no error: another version, which
// wrote to the same DLQ, may have it.
func (a *app) filter(s *selection) (deadletters.Filter, error) {
	for _, code := range s.codes {
		if slices.Contains(codeWords(), code) {
			continue
		}
		hint := "docs/errors.md lists them"
		if code == "retries_exhausted" { // as simulate and the audit trail say
			hint = "it is a reason: dead letters that used up their attempts have the code of their last error, see replayer groups"
		} else if near := meant(code, codeWords()); near != "" {
			hint = "did you mean " + near + "?"
		}
		fmt.Fprintf(a.env.Err, "replayer: warning: --code %s: this version has no such code; %s\n", cli.CleanText(code, cli.OneLine), hint)
	}
	return s.filter(a.env.Now())
}
