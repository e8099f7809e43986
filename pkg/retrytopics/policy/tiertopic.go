package policy

import (
	"strconv"
	"time"
)

// TierTopic returns the topic name of a tier: the prefix and the delay in its largest whole unit, such as "retry-2s",
// "retry-500ms" or "retry-5m".
func TierTopic(prefix string, delay time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if delay%unit.size == 0 && !(unit.size == time.Minute && delay == time.Minute) {
			return prefix + strconv.FormatInt(int64(delay/unit.size), 10) + unit.name
		}
	}
	return prefix + strconv.FormatInt(delay.Milliseconds(), 10) + "ms"
}
