package classify

import (
	"cmp"
	"slices"
)

// Possible lists every combination of code, category and alert tier that a failure can have: the taxonomy, changed by
// the lists of statuses and the rules. It is for counters that must exist before the first failure.
func (o Options) Possible() []Entry {
	out := Taxonomy()
	for _, e := range Taxonomy() {
		for _, category := range o.categories(e) {
			for _, alert := range o.alerts(e) {
				one := e
				one.Category, one.Alert = category, alert
				if !slices.Contains(out, one) {
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// categories returns the categories of an entry's failures; see categoryOf.
func (o Options) categories(e Entry) []Category {
	transient := e.Category
	switch {
	case e.Category.Retried():
	case remote(e.Code):
		transient = CategoryServer
	default:
		transient = CategoryOther
	}
	out := []Category{e.Category}
	for _, status := range o.RetryableStatus {
		if statusCode(status) == e.Code {
			out = append(out, transient)
		}
	}
	if e.Code == CodeUnknown && o.Unknown.transient() {
		out = append(out, transient)
	}
	for _, r := range o.meeting(e.Code) {
		if r.Class.transient() {
			out = append(out, cmp.Or(r.Category, transient))
		}
	}
	return out
}

func (o Options) alerts(e Entry) []Alert {
	out := []Alert{e.Alert}
	for _, r := range o.meeting(e.Code) {
		out = append(out, cmp.Or(r.Alert, e.Alert))
	}
	return out
}

// meeting lists the rules that can match a failure with this code.
func (o Options) meeting(code Code) []Rule {
	return slices.DeleteFunc(slices.Clone(o.Rules), func(r Rule) bool { return !slices.Contains(r.codes(), code) })
}
