package replay

import (
	"cmp"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Skip is a letter that was not touched.
type Skip struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// maxSkips bounds how many letters a result names; all are counted, and OnSkip hears of each.
const maxSkips = 1000

// LeftBy counts letters that were left for one reason. Reasons that differ only in numbers, times and ids are one.
type LeftBy struct {
	Why     string `json:"why"` // of the example, in its words
	Count   int    `json:"count"`
	Example string `json:"example"` // id of the first; "" when its record is gone
	kind    string
}

// maxReasons bounds the reasons that are told apart; the rest is counted under [otherReasons].
const maxReasons = 50

const otherReasons = "other reasons"

// countLeft adds a skip to its reason.
func countLeft(list []LeftBy, s Skip) []LeftBy {
	kind := deadletters.Normalise(s.Why)
	if i := slices.IndexFunc(list, func(l LeftBy) bool { return l.kind == kind }); i >= 0 {
		list[i].Count++
		return list
	}
	if len(list) < maxReasons {
		return append(list, LeftBy{Why: s.Why, Count: 1, Example: s.ID, kind: kind})
	}
	if last := &list[len(list)-1]; last.kind == otherReasons {
		last.Count++
		return list
	}
	return append(list, LeftBy{Why: otherReasons, Count: 1, Example: s.ID, kind: otherReasons})
}

// sortedLeft gives the reasons with the most letters first.
func sortedLeft(list []LeftBy) []LeftBy {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b LeftBy) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
