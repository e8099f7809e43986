package offsets

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Span is a run of offsets, both ends included.
type Span struct{ First, Last int64 }

// Commit is what a group commits for a partition.
type Commit struct {
	Offset   int64 // -1: nothing to commit
	Metadata string
}

// prefix is the version of the metadata format: base64 of pairs (gap, length) as unsigned varints. The gap counts from
// the end of the previous run, or from the committed offset.
const prefix = "d1:"

// spanBytes is the largest size of one span in the metadata: seven bytes of varints, in base64, while the window covers
// fewer than 2^28 offsets. The limits of a partition keep it far below.
const spanBytes = 10

// MetadataFor returns the largest size of the metadata for a number of spans, in bytes.
func MetadataFor(spans int64) int { return len(prefix) + int(spans)*spanBytes }

// MostUnfinished returns how many unfinished records a partition may have among its started ones, so that its finished
// offsets fit into metadata of the given size.
func MostUnfinished(metadata int) int64 { return max(int64((metadata-len(prefix))/spanBytes-1), 1) }

// ErrNewerMetadata is wrapped if a newer version wrote the metadata.
var ErrNewerMetadata = errors.New("the commit's metadata was written by a newer version; upgrade this instance")

// EncodeFinished returns the commit metadata that lists the finished offsets beyond the committed one. spans are sorted,
// do not touch and lie at or beyond next.
func EncodeFinished(next int64, spans []Span) string {
	if len(spans) == 0 {
		return ""
	}
	raw := make([]byte, 0, 8*len(spans))
	at := next
	for _, s := range spans {
		raw = binary.AppendUvarint(raw, uint64(s.First-at))
		raw = binary.AppendUvarint(raw, uint64(s.Last-s.First+1))
		at = s.Last + 1
	}
	return prefix + base64.RawStdEncoding.EncodeToString(raw)
}

// DecodeFinished parses commit metadata. Metadata of another kind (for example a client's member ID) counts as empty,
// because every client may write anything there. Metadata that has our prefix and cannot be parsed is an error.
func DecodeFinished(next int64, metadata string) ([]Span, error) {
	version, body, found := strings.Cut(metadata, ":")
	if !found || len(version) != 2 || version[0] != 'd' || version[1] < '0' || version[1] > '9' {
		return nil, nil
	}
	if version+":" != prefix {
		return nil, fmt.Errorf("metadata version %s: %w", version, ErrNewerMetadata)
	}
	raw, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, fmt.Errorf("commit metadata: %w", err)
	}
	var spans []Span
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
		spans = append(spans, Span{first, at - 1})
	}
	return spans, nil
}
