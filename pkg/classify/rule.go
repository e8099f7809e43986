package classify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rule classifies failures in the user's own way. It matches a failure if all of its conditions match. It needs at least
// one of code, status, sqlstate and kafka.
type Rule struct {
	// Code is the code of the failure, such as http_client_error; `consumer validate --explain-errors` lists them.
	Code Code `jsonschema:"maxLength=64" yaml:"code,omitempty"`
	// Status is the status of an HTTP answer.
	Status int `jsonschema:"minimum=100,maximum=599" yaml:"status,omitempty"`
	// SQLState is an SQLSTATE of a database, in quotes: five characters, or the first two for a class.
	SQLState string `jsonschema:"maxLength=5" yaml:"sqlstate,omitempty"`
	// Kafka is an error code of the Kafka protocol.
	Kafka int `jsonschema:"minimum=-1,maximum=32767" yaml:"kafka,omitempty"`
	// Stage limits the rule to failures of one stage.
	Stage Stage `jsonschema:"enum=header,enum=decode,enum=gate,enum=transform,enum=enrich,enum=validate,enum=encode,enum=sink,enum=produce,enum=handler" yaml:"stage,omitempty"`
	// Class is the class that the rule assigns. Mandatory.
	Class Class `example:"retry_backoff" jsonschema:"required,enum=retry_now,enum=retry_backoff,enum=retry_after,enum=permanent,enum=row" yaml:"class"`
	// Category selects the retry policy, for a class that is retried. Defaults to that of the table.
	Category Category `jsonschema:"enum=network,enum=timeout,enum=server,enum=rate_limit,enum=registry,enum=database,enum=conflict,enum=broker,enum=memory,enum=io,enum=other" yaml:"category,omitempty"`
	// Alert is the urgency of a dead letter. Defaults to that of the table.
	Alert Alert `jsonschema:"enum=P1,enum=P2,enum=P3,enum=P4" yaml:"alert,omitempty"`
}

// rule returns the first matching rule, or an empty one.
func (c *Classifier) rule(f Failure) Rule {
	for _, r := range c.rules {
		if r.fits(f) {
			return r
		}
	}
	return Rule{}
}

func (r Rule) fits(f Failure) bool {
	var answer *HTTPError
	switch {
	case r.Code != "" && r.Code != f.Code, r.Stage != "" && r.Stage != f.Stage:
		return false
	case r.Status != 0 && !(errors.As(f.Err, &answer) && answer.Status == r.Status):
		return false
	case r.SQLState != "" && !strings.HasPrefix(sqlState(f.Err), r.SQLState):
		return false
	case r.Kafka != 0:
		number, ok := kafkaErrorCode(f.Err)
		return ok && int(number) == r.Kafka
	}
	return true
}

// Fault returns why a rule must not be used, or nil: it matches nothing, or it would retry what no attempt fixes (S3-6).
func (r Rule) Fault() error {
	codes := r.codes()
	switch {
	case r.Code == "" && r.Status == 0 && r.SQLState == "" && r.Kafka == 0:
		return errors.New("matches no failure: set code, status, sqlstate or kafka; stage alone would match every failure in that stage")
	case r.SQLState != "" && (len(r.SQLState) < 2 || len(r.SQLState) > 5):
		return fmt.Errorf("sqlstate %q: write the five characters, or the two of a class", r.SQLState)
	case r.Code != "" && categoryIn(r.Code) == "":
		return fmt.Errorf("no code is called %q", r.Code)
	case !slices.Contains(Classes(), r.Class):
		return fmt.Errorf("class %q is none of %v", r.Class, Classes())
	case !r.Class.transient():
		return nil
	case r.Class == RetryNow && slices.ContainsFunc(codes, remote):
		return &ForbiddenError{"an immediate retry of an HTTP answer ignores its Retry-After; use retry_after or retry_backoff"}
	case local(r.Stage):
		return &ForbiddenError{fmt.Sprintf("what fails in stage %s is computed here and gives the same result every time (S1-9)", r.Stage)}
	case r.Category != "" && !r.Category.Retried():
		return &ForbiddenError{NeverRetried(r.Category)}
	}
	for _, code := range codes {
		if code == CodeUnknown && r.Code == "" {
			continue // a user who names a number that the table does not have knows it
		}
		if category := categoryIn(code); slices.Contains(unforgiving(), category) {
			return &ForbiddenError{fmt.Sprintf("%s is a failure of the category %s: %s", code, category, NeverRetried(category))}
		}
	}
	if reason := ForbiddenStatus(r.Status); reason != "" {
		return &ForbiddenError{reason}
	}
	return nil
}

// ForbiddenError means that something would be retried although no attempt fixes it, or in a harmful way (S3-6).
type ForbiddenError struct{ Reason string }

// Error gives the reason.
func (e *ForbiddenError) Error() string { return "forbidden: " + e.Reason }

// codes lists the codes that a rule can match, as far as it names them.
func (r Rule) codes() []Code {
	var out []Code
	if r.Code != "" {
		out = append(out, r.Code)
	}
	if r.Status != 0 {
		out = append(out, statusCode(r.Status))
	}
	if r.Kafka != 0 {
		out = append(out, kafkaCode(int16(r.Kafka))) //nolint:gosec // a number that is none of Kafka's is rejected there
	}
	if r.SQLState != "" {
		out = append(out, sqlStateCode(r.SQLState))
		for _, row := range sqlStates() {
			if strings.HasPrefix(row.number, r.SQLState) {
				out = append(out, row.code)
			}
		}
	}
	return out
}

// categoryIn returns the category of a code; "" if there is no such code.
func categoryIn(code Code) Category {
	table := Taxonomy()
	if i := slices.IndexFunc(table, func(e Entry) bool { return e.Code == code }); i >= 0 {
		return table[i].Category
	}
	return ""
}

func remote(c Code) bool {
	return slices.ContainsFunc(remoteEntries(), func(e Entry) bool { return e.Code == c })
}

// local reports whether a stage computes without asking another system.
func local(s Stage) bool {
	return slices.Contains([]Stage{StageHeader, StageGate, StageDecode, StageTransform, StageValidate, StageEncode}, s)
}

// unforgiving lists the categories that not even a rule may retry. Access, request and environment are left to the user:
// a token may be renewed, a resource may still appear.
func unforgiving() []Category {
	return []Category{CategoryValidation, CategorySchema, CategoryGovernance, CategoryDefect}
}

// ForbiddenStatus returns why an HTTP status must not be retried, or "" (S3-6).
func ForbiddenStatus(status int) string {
	switch status {
	case 400:
		return "400 means that the request itself failed validation; the next attempt would fail too"
	case 422:
		return "422 means that the content failed validation; the next attempt would fail too"
	case 451:
		return "451 means that the law forbids access; another attempt does not change that"
	}
	return ""
}

// NeverRetried returns why failures of a permanent category are not retried.
func NeverRetried(c Category) string {
	switch c {
	case CategoryValidation:
		return "a record that failed validation fails again at the next attempt; only a fix and a replay help"
	case CategorySchema:
		return "two structures that do not match will not match at the next attempt; one of them must be changed"
	case CategoryGovernance:
		return "another attempt does not change a rule about who may use the data; a person decides"
	case CategoryAccess:
		return "credentials and permissions do not fix themselves, and further attempts may lock the account"
	case CategoryRequest:
		return "a wrong request fails again at the next attempt"
	case CategoryEnvironment:
		return "a full disk does not empty itself, and further attempts fill it more"
	case CategoryDefect:
		return "an unknown error that is retried stays hidden from the person who must fix it"
	default:
		return string(c) + " is not a category of permanent failures"
	}
}
