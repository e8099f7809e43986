package pipeline

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// contentTypeHeader says what a value is. Its case is of no account.
const contentTypeHeader = "content-type"

// contentTypeGeoJSON is that of RFC 7946, section 12.
const contentTypeGeoJSON = "application/geo+json"

// outputHeaders gives the producer's headers to an output, in their order. Only what says what the value is cannot pass
// through untouched: a content type becomes that of the output. Where the producer sent none, there is none.
func outputHeaders(headers []kgo.RecordHeader, value []byte) []kgo.RecordHeader {
	isType := func(h kgo.RecordHeader) bool { return strings.EqualFold(h.Key, contentTypeHeader) }
	first := slices.IndexFunc(headers, isType)
	if first < 0 || value == nil {
		return headers
	}
	out := slices.DeleteFunc(slices.Clone(headers[first+1:]), isType)
	return slices.Concat(headers[:first], []kgo.RecordHeader{{Key: headers[first].Key, Value: []byte(contentTypeGeoJSON)}}, out)
}
