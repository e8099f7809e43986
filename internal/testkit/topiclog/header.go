package topiclog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Header returns the text of a record's header, or "", and how often the header occurs. The contract allows one
// occurrence.
func Header(r *kgo.Record, key string) (string, int) {
	text, n := "", 0
	for _, h := range r.Headers {
		if h.Key == key {
			if n == 0 {
				text = string(h.Value)
			}
			n++
		}
	}
	return text, n
}

// Position returns a record's position as in the header switchback-source: topic/partition/offset.
func Position(r *kgo.Record) string {
	return r.Topic + "/" + strconv.Itoa(int(r.Partition)) + "/" + strconv.FormatInt(r.Offset, 10)
}

// Describe formats a record for a failure message: position, timestamp, key, the start of its value and its headers.
func Describe(r *kgo.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  key %q  value %s", Position(r), r.Timestamp.UTC().Format("15:04:05.000"), r.Key, start(r.Value))
	for _, h := range r.Headers {
		fmt.Fprintf(&b, "\n    %s: %s", h.Key, h.Value)
	}
	return b.String()
}

func start(value []byte) string {
	const limit = 100
	switch {
	case value == nil:
		return "(null)"
	case len(value) > limit:
		return fmt.Sprintf("%q… (%d bytes)", value[:limit], len(value))
	default:
		return fmt.Sprintf("%q", value)
	}
}
