package config

import (
	"slices"
	"strconv"
	"strings"
)

// Patterns of retrying that do harm (S3-6). The rules refuse them wherever a file can ask for them: as a policy for failures that never
// pass, a rule, a status in the retryable list, a POST that is not declared idempotent, and here as a value out of its range.
const (
	infinite  = "infinite retries: a record that can never pass would be tried for ever; the number is bounded, and what is left over is a dead letter that can be replayed"
	impatient = "ignoring Retry-After: the other side says when it can again, and an earlier attempt is refused and counts against us"
	growing   = "retrying with growing concurrency: a dependency that fails needs fewer requests, not more; below 1 the attempts follow each other faster and faster"
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
