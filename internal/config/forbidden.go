package config

import (
	"slices"
	"strconv"
	"strings"
)

// The patterns of retrying that do harm (S3-6) are refused wherever a file can ask for them: a policy for what never passes
// (check_policies.go), a rule (retry_rules.go), a status in the retryable list, a POST that is not declared idempotent
// (check_enrich.go), and here: values out of their range, and keys that other tools have for it.

// forbidden reasons that more than one place gives.
const (
	infinite   = "infinite retries: a record that can never pass would be tried for ever; the number is bounded, and what is left over is a dead letter that can be replayed"
	impatient  = "ignoring Retry-After: the other side says when it can again, and an earlier attempt is refused and counts against us"
	growing    = "retrying with growing concurrency: a dependency that fails needs fewer requests, not more"
	indecision = "retrying whatever fails: validation, schema and governance failures are as bad at the next attempt"
)

// forbiddenValue says why a value that is out of its range stands for a forbidden pattern, or "".
func forbiddenValue(path string, w written) string {
	if !strings.HasPrefix(path, retryPath) {
		return ""
	}
	key := path[strings.LastIndexByte(path, '.')+1:]
	n, err := strconv.ParseFloat(w.text, 64)
	switch key {
	case "max_attempts":
		if err == nil && (n < 1 || n > 1000) || slices.Contains(endless(), fold(w.text)) {
			return infinite
		}
	case "multiplier":
		if err == nil && n < 1 {
			return growing + "; below 1 the attempts follow each other faster and faster"
		}
	case "retry_after_limit":
		if err == nil && n <= 0 || strings.HasPrefix(w.text, "0") || strings.HasPrefix(w.text, "-") {
			return impatient
		}
	}
	return ""
}

// endless lists what people write for no end, folded.
func endless() []string {
	return []string{"unlimited", "infinite", "infinity", "inf", ".inf", "forever", "always", "none", "null", "~"}
}

// forbiddenKey says why a key that this file does not have stands for a forbidden pattern, or "". The names are those of
// other tools, and of what people hope for.
func forbiddenKey(path, name string) string {
	if !strings.HasPrefix(path, "pipeline.") && !strings.HasPrefix(path, "enrich[") {
		return ""
	}
	switch fold(name) {
	case "retryforever", "infiniteretries", "infinite", "unlimited", "retryindefinitely", "forever":
		return infinite
	case "ignoreretryafter", "respectretryafter", "honorretryafter", "honourretryafter", "obeyretryafter", "useretryafter":
		return impatient
	case "concurrencymultiplier", "concurrencygrowth", "retryconcurrency", "parallelretries", "retryparallelism", "hedge", "hedging":
		return growing
	case "retryall", "retryonany", "retryonerror", "retryvalidation", "retryschema", "retrygovernance", "retrypermanent", "retryunknown":
		return indecision
	}
	return ""
}
