package classify

import (
	"fmt"
	"strings"
)

// Condition describes when the entry's code applies: its own words, conditions about types, and the numbers of HTTP,
// PostgreSQL and Kafka. A narrower number with a code of its own takes precedence.
func (e Entry) Condition() string {
	var parts []string
	if e.When != "" {
		parts = append(parts, e.When)
	}
	for _, c := range typed() {
		if c.code == e.Code {
			parts = append(parts, c.when)
		}
	}
	parts = append(parts, e.statuses()...)
	for _, row := range sqlStates() {
		if row.code == e.Code {
			parts = append(parts, fmt.Sprintf("SQLSTATE %s (%s)", sqlStatePattern(row.number), row.when))
		}
	}
	for _, row := range kafkaErrors() {
		if row.code == e.Code {
			parts = append(parts, fmt.Sprintf("Kafka %s (%s)", row.number, row.when))
		}
	}
	return strings.Join(append(parts, e.ownWords()...), "; ")
}

func sqlStatePattern(number string) string {
	if len(number) < 5 {
		return number + "*"
	}
	return number
}

func (e Entry) statuses() []string {
	var parts []string
	for _, row := range statuses() {
		switch {
		case row.code != e.Code:
		case row.from == row.to:
			parts = append(parts, fmt.Sprintf("HTTP %d", row.from))
		default:
			parts = append(parts, fmt.Sprintf("any other HTTP %dxx", row.from/100))
		}
	}
	return parts
}

// ownWords are the conditions that codeOf checks before and after all lists.
func (e Entry) ownWords() []string {
	switch e.Code {
	case CodePanic:
		return []string{"a panic"}
	case CodeCanceled:
		return []string{"cancelled by the process itself"}
	case CodeBrokerRejected:
		return []string{"any other Kafka error"}
	default:
		return nil
	}
}
