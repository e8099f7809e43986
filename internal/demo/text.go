package demo

import (
	"strconv"
	"strings"
	"time"
)

// thousands writes 4938 as 4,938.
func thousands[T int | int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// brief writes a duration the way a person reads it: 0.4 ms, 350 ms, 1.4 s, 75 s.
func brief(d time.Duration) string {
	switch {
	case d > 0 && d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	}
}
