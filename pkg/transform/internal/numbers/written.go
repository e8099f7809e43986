package numbers

import "strings"

// People write numbers with a character between groups of three digits, and some with a comma before the decimals.
// [Written] states how a source writes them. Nothing is guessed, because 1.234 can be two numbers.

// Groupings lists the characters that may stand between groups of digits.
func Groupings() []string { return []string{"'", "’", ",", ".", " ", "_"} }

// Written is the way in which a source writes numbers.
type Written struct {
	Thousands string // between groups of three digits, one of [Groupings]; "" for none
	Decimal   string // before the decimals; "" means a point
}

// Mark returns the character before the decimals.
func (w Written) Mark() string {
	if w.Decimal == "" {
		return "."
	}
	return w.Decimal
}

// Plain turns a text that is a number as the source writes it into one as JSON does. ok is false for any other text:
// groups that do not have three digits, or a character that w does not name.
func (w Written) Plain(text string) (plain string, ok bool) {
	text = strings.TrimSpace(text)
	sign := ""
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, text = text[:1], text[1:]
	}
	whole, decimals, hasDecimals := strings.Cut(text, w.Mark())
	if w.Thousands == " " {
		whole = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ").Replace(whole)
	}
	groups := []string{whole}
	if w.Thousands != "" {
		groups = strings.Split(whole, w.Thousands)
	}
	for i, group := range groups {
		first := i == 0
		if !allDigits(group) && !(first && group == "" && hasDecimals && len(groups) == 1) || len(groups) > 1 && (first && len(group) > 3 || !first && len(group) != 3) {
			return "", false
		}
	}
	if hasDecimals && !allDigits(decimals) {
		return "", false
	}
	plain = sign + strings.Join(groups, "")
	if hasDecimals {
		plain += "." + decimals
	}
	return plain, true
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// IsSeparated reports whether a text looks like a number with separators between its digits.
func IsSeparated(text string) bool {
	rest := strings.TrimLeft(strings.TrimSpace(text), "+-")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9' && strings.Trim(rest, "0123456789'’,._ \u00a0\u202f\u2009") == "" && !allDigits(rest)
}
