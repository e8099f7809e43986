package topics

import (
	"slices"
	"strconv"
	"strings"
)

// The relevant topic settings, by Kafka's names.
const (
	settingCleanup        = "cleanup.policy"
	settingRetention      = "retention.ms"
	settingRetentionBytes = "retention.bytes"
	settingMaxMessage     = "max.message.bytes"
	settingCompression    = "compression.type"
	settingSegment        = "segment.bytes"
	settingDeleted        = "delete.retention.ms"
)

// uncompressed is the compression.type of a topic that stores batches uncompressed.
const uncompressed = "uncompressed"

// The settings of a busy topic. Brokers do not compact the active segment, and keep transaction markers as long as
// tombstones.
const (
	busySegment     = "8388608"
	busySegmentMost = 64 << 20 // of an existing topic, above which it is a fault
	busyDeleted     = "600000"
)

// unlimited is Kafka's value for unlimited retention.
const unlimited = "-1"

// settings returns the settings of a new topic. sourceMax is max.message.bytes of the source.
func (t Topic) settings(sourceMax int64) map[string]*string {
	out := map[string]*string{}
	set := func(key, value string) { out[key] = &value }
	if t.Cleanup != CleanupOwner {
		set(settingCleanup, string(t.Cleanup))
	}
	if t.Retention != 0 {
		set(settingRetention, t.retentionText())
	}
	if t.Retention == Forever { // the broker's own default may limit the size
		set(settingRetentionBytes, unlimited)
	}
	if t.Busy {
		set(settingSegment, busySegment)
		set(settingDeleted, busyDeleted)
	}
	if t.Sized {
		set(settingMaxMessage, strconv.FormatInt(sourceMax+int64(t.Headroom), 10))
	}
	return out
}

func (t Topic) retentionText() string {
	if t.Retention == Forever {
		return unlimited
	}
	return strconv.FormatInt(t.Retention.Milliseconds(), 10)
}

// sameCleanup reports whether the broker's list of policies is exactly the wanted one. "compact,delete" is neither:
// it deletes by age records that compaction should keep.
func sameCleanup(actual string, want Cleanup) bool {
	policies := strings.FieldsFunc(actual, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(policies)
	return slices.Equal(slices.Compact(policies), []string{string(want)})
}

// keepsLessThan reports whether the broker's limit is below the wanted one; "-1" is no limit.
func keepsLessThan(actual, want string) bool {
	if actual == unlimited || actual == want {
		return false
	}
	have, err := strconv.ParseInt(actual, 10, 64)
	if err != nil || want == unlimited {
		return true
	}
	least, err := strconv.ParseInt(want, 10, 64)
	return err != nil || have < least
}
