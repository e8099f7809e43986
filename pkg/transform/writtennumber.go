package transform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// People write numbers with a character between groups of three digits, and some with a comma before the decimals. A rule
// states how its source writes them. Nothing is guessed, because 1.234 can be two numbers.

// groupings are the characters that may stand between groups of digits.
func groupings() []string { return []string{"'", "’", ",", ".", " ", "_"} }

// compileWritten checks how a rule's source writes numbers.
func compileWritten(rule *fieldRule, faults *faultList) {
	if rule.Thousands == "" && rule.Decimal == "" {
		return
	}
	if rule.Type != TypeInteger && rule.Type != TypeNumber && rule.Type != TypeDecimal {
		faults.add(rule.place+".type", "thousands and decimal are for numbers", "set type: number, integer or decimal")
	}
	if rule.Thousands != "" && !slices.Contains(groupings(), rule.Thousands) {
		faults.add(rule.place+".thousands", strconv.Quote(shorten.Text(rule.Thousands))+" is no character that stands between groups of digits", "write one of "+quoteList(groupings()))
	}
	if rule.Decimal != "" && rule.Decimal != "." && rule.Decimal != "," {
		faults.add(rule.place+".decimal", strconv.Quote(shorten.Text(rule.Decimal))+" is no decimal character", `write "," or "."`)
	}
	if rule.decimalMark() == rule.Thousands {
		faults.add(rule.place+".thousands", strconv.Quote(rule.Thousands)+" stands before the decimals", "name another character, or set decimal")
	}
}

// decimalMark is the character before the decimals.
func (rule *fieldRule) decimalMark() string {
	if rule.Decimal == "" {
		return "."
	}
	return rule.Decimal
}

// plainNumber turns a text that is a number as the source writes it into one as JSON does. ok is false for another text: groups
// of another length than three, or a character that the rule does not name.
func (rule *fieldRule) plainNumber(text string) (plain string, ok bool) {
	text = strings.TrimSpace(text)
	sign := ""
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, text = text[:1], text[1:]
	}
	whole, decimals, hasDecimals := strings.Cut(text, rule.decimalMark())
	if rule.Thousands == " " {
		whole = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ").Replace(whole)
	}
	groups := []string{whole}
	if rule.Thousands != "" {
		groups = strings.Split(whole, rule.Thousands)
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

// separatedNumber reports whether a text reads as a number of people: digits with a separator between them.
func separatedNumber(text string) bool {
	rest := strings.TrimLeft(strings.TrimSpace(text), "+-")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9' && strings.Trim(rest, "0123456789'’,._ \u00a0\u202f\u2009") == "" && !allDigits(rest)
}
