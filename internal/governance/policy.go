package governance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// MaxMark is the longest mark, in bytes, so that it fits into its header: a truncated lineage would be a different
// one.
const MaxMark = 448

// Violation is a rule that a record breaks. It is never retried.
type Violation struct {
	Mark  string // care, sovereignty or lineage
	Value string // the forbidden value; "" if the mark is missing
	Rule  string // the key of the rule, as governance.care.deny
	What  string // the fault, in words
}

// Error names the broken rule and the value, and suggests what to do.
func (v *Violation) Error() string {
	what := fmt.Sprintf("the %s mark %q %s", v.Mark, v.Value, v.What)
	if v.Value == "" {
		what = fmt.Sprintf("the %s mark %s", v.Mark, v.What)
	}
	return what + " (" + v.Rule + "); a person has to decide: it is not retried"
}

// FailureCode makes the error classifiable.
func (v *Violation) FailureCode() classify.Code { return classify.CodeGovernanceDenied }

// FailureStage makes the error classifiable.
func (v *Violation) FailureStage() classify.Stage { return classify.StageGate }

// Policy reads marks and applies their rules. The zero Policy reads none.
type Policy struct{ rules config.Governance }

// NewPolicy returns the policy of a configuration.
func NewPolicy(rules config.Governance) Policy { return Policy{rules} }

// On reports whether any mark is read.
func (p Policy) On() bool { return p.rules.On() }

// Marks returns the marks of a record. Each comes from its header, otherwise from the field of its features, otherwise
// from the control header of an earlier pipeline or hop. A delete has no features; if there are several, the rules apply
// to each. Several values are joined by commas. The marks are complete even with an error, which is then a *Violation of
// the first broken rule.
func (p Policy) Marks(headers []kgo.RecordHeader, control *header.Control, features ...*transform.Feature) (retrytopics.Marks, error) {
	if !p.On() {
		return retrytopics.Marks{}, nil
	}
	var marks retrytopics.Marks
	var first *Violation
	for _, m := range []struct {
		name, before string
		rules        config.Mark
		into         *string
	}{
		{"care", control.Care, p.rules.Care, &marks.Care},
		{"sovereignty", control.Sovereignty, p.rules.Sovereignty, &marks.Sovereignty},
		{"lineage", control.Lineage, p.rules.Lineage, &marks.Lineage},
	} {
		value, v := read(m.name, m.rules, headers, m.before, features)
		*m.into = value
		if first == nil {
			first = v
		}
	}
	if first != nil {
		return marks, first
	}
	return marks, nil
}

// read reads one mark and applies its rules.
func read(name string, rules config.Mark, headers []kgo.RecordHeader, before string, features []*transform.Feature) (string, *Violation) {
	if len(features) == 0 {
		value := reader{headers, nil}.read(rules, before)
		return value, check(name, value, rules, true)
	}
	var all []string
	var first *Violation
	for _, f := range features {
		value := reader{headers, f}.read(rules, before)
		if v := check(name, value, rules, false); first == nil {
			first = v
		}
		for one := range strings.SplitSeq(value, ",") {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	value := join(all)
	if first == nil {
		first = tooLong(name, value)
	}
	return value, first
}

// check returns the first rule of a mark that its value breaks.
func check(name, value string, rules config.Mark, isDelete bool) *Violation {
	key := "governance." + name + "."
	if value == "" {
		if rules.Required && !isDelete {
			return &Violation{Mark: name, Rule: key + "required", What: "is missing"}
		}
		return nil
	}
	if v := tooLong(name, value); v != nil {
		return v
	}
	for one := range strings.SplitSeq(value, ",") {
		switch {
		case slices.Contains(rules.Deny, one):
			return &Violation{Mark: name, Value: one, Rule: key + "deny", What: "is denied"}
		case len(rules.Allow) > 0 && !slices.Contains(rules.Allow, one):
			return &Violation{Mark: name, Value: one, Rule: key + "allow", What: "is none of those that are allowed"}
		}
	}
	return nil
}

// tooLong returns a violation if a mark does not fit into its header.
func tooLong(name, value string) *Violation {
	if len(value) <= MaxMark {
		return nil
	}
	what := fmt.Sprintf("has %d bytes; its header has room for %d", len(value), MaxMark)
	return &Violation{Mark: name, Value: strings.ToValidUTF8(value[:40], "") + "…", Rule: "governance." + name, What: what}
}

// reader reads the marks of one record.
type reader struct {
	headers []kgo.RecordHeader
	feature *transform.Feature
}

// read returns the values of a mark, trimmed and joined by commas.
func (r reader) read(m config.Mark, before string) string {
	if m.Header != "" {
		var all []string
		for _, h := range r.headers {
			if h.Key == m.Header { // Kafka allows a repeated key: a value must not hide behind another one
				all = append(all, strings.Split(string(h.Value), ",")...)
			}
		}
		if values := join(all); values != "" {
			return values
		}
	}
	if m.Field != "" && r.feature != nil {
		if value, ok := r.feature.Property(strings.TrimPrefix(m.Field, "properties.")); ok {
			if values := join(texts(value)); values != "" {
				return values
			}
		}
	}
	return before
}

// texts returns the values of a property: the elements of a list, or one text split at its commas.
func texts(v transform.Value) []string {
	if v.Kind() == transform.KindArray {
		var out []string
		for _, item := range v.Items() {
			out = append(out, strings.Split(item.Text(), ",")...)
		}
		return out
	}
	return strings.Split(v.Text(), ",")
}

func join(values []string) string {
	var kept []string
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			kept = append(kept, strings.ToValidUTF8(v, "\uFFFD"))
		}
	}
	return strings.Join(kept, ",")
}
