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

// Untouched counts the letters that an operation left as they are.
type Untouched struct {
	Left    int      `json:"left"`
	Skipped []Skip   `json:"skipped"` // the first 1000 of them, each with the reason
	LeftBy  []LeftBy `json:"left_by"` // by reason, the most first
}

// skip counts a letter.
func (u *Untouched) skip(s Skip) {
	u.Left++
	if len(u.Skipped) < maxSkips {
		u.Skipped = append(u.Skipped, s)
	}
	kind := deadletters.Normalise(s.Why)
	if i := slices.IndexFunc(u.LeftBy, func(l LeftBy) bool { return l.kind == kind }); i >= 0 {
		u.LeftBy[i].Count++
		return
	}
	if len(u.LeftBy) < maxReasons {
		u.LeftBy = append(u.LeftBy, LeftBy{Why: s.Why, Count: 1, Example: s.ID, kind: kind})
		return
	}
	if last := &u.LeftBy[len(u.LeftBy)-1]; last.kind == otherReasons {
		last.Count++
		return
	}
	u.LeftBy = append(u.LeftBy, LeftBy{Why: otherReasons, Count: 1, Example: s.ID, kind: otherReasons})
}

// sorted returns the reasons with the most letters first.
func (u *Untouched) sorted() Untouched {
	out := *u
	out.LeftBy = slices.Clone(u.LeftBy)
	slices.SortStableFunc(out.LeftBy, func(a, b LeftBy) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
