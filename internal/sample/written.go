package sample

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// written is how one value writes a number.
type written struct {
	number    bool   // it can be read as a number with separators; false is the zero value
	separated bool   // it has a separator
	thousands string // separator of groups of digits
	decimal   string // separator of decimals
	either    string // the only separator of 1,234: between groups or before decimals
	unit      string // the text after the number, with the space before it
}

// withUnit is a number followed by a unit, such as 1'234 m2.
var withUnit = regexp.MustCompile(`^(.*[0-9])(\s?[\p{L}°%][\p{L}0-9²³/]*)$`)

// readWritten parses a text as a number: digits with groups of three, decimals or both.
func readWritten(text string) written {
	if parts := withUnit.FindStringSubmatch(strings.TrimSpace(text)); parts != nil {
		w := readWritten(parts[1])
		if w.number && w.unit == "" {
			w.unit = parts[2]
			return w
		}
		return written{}
	}
	text = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ").Replace(strings.TrimSpace(text))
	groups, separators := cutDigits(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+"))
	last := len(separators) - 1
	switch {
	case len(groups) == 0:
		return written{}
	case last < 0:
		return written{number: true}
	}
	mark := separators[last]
	decimals := mark == "," || mark == "."
	switch {
	case last == 0 && decimals && isGrouped(groups) && groups[0] != "0":
		return written{number: true, separated: true, either: mark}
	case last == 0 && decimals:
		return written{number: true, separated: true, decimal: mark}
	case allAre(separators, mark) && isGrouped(groups):
		return written{number: true, separated: true, thousands: mark}
	case decimals && separators[0] != mark && allAre(separators[:last], separators[0]) && isGrouped(groups[:last+1]):
		return written{number: true, separated: true, thousands: separators[0], decimal: mark}
	}
	return written{}
}

// cutDigits splits a text into groups of digits and the characters between them. It returns nothing for another text.
func cutDigits(text string) (groups, separators []string) {
	start := 0
	for i, r := range text {
		if r >= '0' && r <= '9' {
			continue
		}
		if i == start || !strings.ContainsRune("'’,._ ", r) {
			return nil, nil
		}
		groups, separators = append(groups, text[start:i]), append(separators, string(r))
		start = i + len(string(r))
	}
	if start == len(text) {
		return nil, nil
	}
	return append(groups, text[start:]), separators
}

// isGrouped reports whether digits are in groups of three.
func isGrouped(groups []string) bool {
	return len(groups[0]) <= 3 && !slices.ContainsFunc(groups[1:], func(group string) bool { return len(group) != 3 })
}

func allAre(separators []string, mark string) bool {
	return !slices.ContainsFunc(separators, func(s string) bool { return s != mark })
}

// numberRule returns the rule that reads most numbers of a property as its source writes them, and which forms it reads.
// The rule is "" if JSON reads them, or if fewer than a tenth have a separator.
func numberRule(looks map[look]int) (rule string, reads func(look) bool) {
	thousands, decimals, either, units := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	numbers, separated := 0, 0
	for l, n := range looks {
		if !l.written.number {
			continue
		}
		numbers += n
		if l.written.separated {
			separated += n
		}
		thousands[l.written.thousands] += n
		decimals[l.written.decimal] += n
		either[l.written.either] += n
		units[l.written.unit] += n
	}
	decimal := mostFrequent(decimals)
	group := mostFrequent(thousands, decimal)
	if other := mostFrequent(either, decimal, group); other != "" {
		switch {
		case decimal == "":
			decimal = other
		case group == "":
			group = other
		}
	}
	unit, optional := unitOf(units, numbers)
	reads = func(l look) bool {
		w := l.written
		return w.number && (w.unit == unit || w.unit == "" && optional) && (w.thousands == "" || w.thousands == group) && (w.decimal == "" || w.decimal == decimal) &&
			(w.either == "" || w.either == group || w.either == decimal)
	}
	if unit == "" && (10*separated < numbers || group == "" && decimal != ",") {
		return "", reads
	}
	rule = "a number? type: number"
	if group != "" {
		rule += `, thousands: "` + group + `"`
	}
	if decimal == "," {
		rule += `, decimal: ","`
	}
	switch {
	case optional:
		rule += `, extract: "^(-?[0-9` + group + decimal + `]+)(?:` + unit + `)?$"`
	case unit != "":
		rule += `, extract: "^(-?[0-9` + group + decimal + `]+)` + unit + `$"`
	}
	return rule, reads
}

// unitOf returns the unit of numbers from the number of values with each. optional means that some have none. It
// returns "" for other texts after numbers, such as in the house numbers 12a and 12b.
func unitOf(units map[string]int, numbers int) (unit string, optional bool) {
	unit = mostFrequent(units)
	with, without := numbers-units[""], units[""]
	switch {
	case 10*units[unit] < 9*with, 10*with < numbers:
		return "", false
	case without > 0 && utf8.RuneCountInString(strings.TrimSpace(unit)) == 1: // 12a and 14
		return "", false
	}
	return unit, without > 0 && unit != ""
}

// mostFrequent returns the separator of most values, or "". It ignores those that are taken.
func mostFrequent(counts map[string]int, taken ...string) (separator string) {
	for s, n := range counts {
		if s == "" || slices.Contains(taken, s) {
			continue
		}
		if best := counts[separator]; separator == "" || n > best || n == best && s < separator {
			separator = s
		}
	}
	return separator
}
