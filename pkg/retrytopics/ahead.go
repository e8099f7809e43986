package retrytopics

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// span is a run of offsets, both ends included.
type span struct{ first, last int64 }

// aheadPrefix names the version of the metadata form: base64 of pairs (gap, length) as unsigned varints, the gap counted
// from the end of the run before, or from the committed offset.
const aheadPrefix = "d1:"

// ErrNewerMetadata is wrapped when the metadata of a commit was written by a newer version of this library. Reading on
// would do finished records again, so the partition is refused.
var ErrNewerMetadata = errors.New("the commit's metadata was written by a newer version; upgrade this instance")

// encodeAhead gives the commit metadata that says which offsets beyond the committed one are finished. spans are sorted,
// do not touch and lie at or beyond next.
func encodeAhead(next int64, spans []span) string {
	if len(spans) == 0 {
		return ""
	}
	raw := make([]byte, 0, 8*len(spans))
	at := next
	for _, s := range spans {
		raw = binary.AppendUvarint(raw, uint64(s.first-at))
		raw = binary.AppendUvarint(raw, uint64(s.last-s.first+1))
		at = s.last + 1
	}
	return aheadPrefix + base64.RawStdEncoding.EncodeToString(raw)
}

// decodeAhead reads commit metadata. Metadata of another kind (a client's member id, say) counts as empty: every client
// writes what it likes there. Metadata that begins like ours and cannot be read is an error.
func decodeAhead(next int64, metadata string) ([]span, error) {
	version, body, found := strings.Cut(metadata, ":")
	if !found || len(version) != 2 || version[0] != 'd' || version[1] < '0' || version[1] > '9' {
		return nil, nil
	}
	if version+":" != aheadPrefix {
		return nil, fmt.Errorf("metadata version %s: %w", version, ErrNewerMetadata)
	}
	raw, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, fmt.Errorf("commit metadata: %w", err)
	}
	var spans []span
	at := next
	for len(raw) > 0 {
		gap, n := binary.Uvarint(raw)
		if n <= 0 {
			return nil, errors.New("commit metadata: broken gap")
		}
		raw = raw[n:]
		length, n := binary.Uvarint(raw)
		if n <= 0 || length == 0 {
			return nil, errors.New("commit metadata: broken length")
		}
		raw = raw[n:]
		if gap > math.MaxInt64 || length > math.MaxInt64 || at > math.MaxInt64-int64(gap) || at+int64(gap) > math.MaxInt64-int64(length) {
			return nil, errors.New("commit metadata: offsets overflow")
		}
		first := at + int64(gap)
		at = first + int64(length)
		spans = append(spans, span{first, at - 1})
	}
	return spans, nil
}
