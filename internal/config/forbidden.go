package config

import (
	"slices"
	"strconv"
	"strings"
)

// forbiddenValue returns why a value that is out of its range stands for a forbidden pattern, or "".
func forbiddenValue(path string, w written) string {
	key, ofPolicy := path[strings.LastIndexByte(path, '.')+1:], strings.HasPrefix(path, retryPath)
	n, err := strconv.ParseFloat(w.text, 64)
	below := err == nil && n < 1 || err != nil && strings.HasPrefix(w.text, "0") || strings.HasPrefix(w.text, "-")
	endless := n > 1000 || slices.Contains([]string{"unlimited", "infinite", "forever", ".inf"}, fold(w.text))
	switch {
	case !ofPolicy:
	case key == "max_attempts" && (below || endless):
		return infinite
	case key == "multiplier" && below:
		return growing
	case key == "retry_after_limit" && below:
		return impatient
	}
	return ""
}
