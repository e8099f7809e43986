package sample

import (
	"regexp"
	"strconv"
)

// zone is an example: the data does not tell its own.
const zone = ", time_zone: Europe/Zurich"

// Days and times as data often has them.
var (
	localSeconds = regexp.MustCompile(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d$`)
	localMinutes = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d$`)
	dotted       = regexp.MustCompile(`^\d\d\.\d\d\.\d{4}$`)
	slashed      = regexp.MustCompile(`^\d\d/\d\d/\d{4}$`)
)

// Numbers from earliest to before latest look like Unix times of data, in seconds: 1990 to 2050.
const earliest, latest = 631_152_000, 2_524_608_000

// looksLike returns the rule that would read a value as a day or a time, or "". It is a question, because a number can
// be an identifier.
func looksLike(text string, number bool) string {
	n, err := strconv.ParseInt(text, 10, 64)
	switch whole := number && err == nil; {
	case whole && n >= earliest && n < latest:
		return "Unix seconds? type: datetime, formats: [unix]"
	case whole && n >= earliest*1000 && n < latest*1000:
		return "Unix milliseconds? type: datetime, formats: [unix_ms]"
	case number:
		return ""
	case localSeconds.MatchString(text):
		return `a time without an offset? type: datetime, formats: ["%Y-%m-%d` + text[10:11] + `%H:%M:%S"]` + zone
	case localMinutes.MatchString(text):
		return `a time without an offset? type: datetime, formats: ["%Y-%m-%d %H:%M"]` + zone
	case dotted.MatchString(text):
		return `a day? type: date, formats: ["%d.%m.%Y"]`
	case slashed.MatchString(text):
		return `a day? type: date, formats: ["%d/%m/%Y"] (or "%m/%d/%Y")`
	}
	return ""
}
