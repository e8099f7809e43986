package offsets

import (
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func FuzzDecodeFinished(f *testing.F) {
	f.Add(int64(0), "")
	f.Add(int64(5), EncodeFinished(5, []Span{{7, 9}, {12, 12}}))
	f.Add(int64(1), "kgo-member-id")
	f.Add(int64(1), "d2:AAAA")
	f.Fuzz(func(t *testing.T, next int64, metadata string) {
		if next < 0 {
			return
		}
		spans, err := DecodeFinished(next, metadata)
		if err != nil || len(spans) == 0 {
			return
		}
		again, err := DecodeFinished(next, EncodeFinished(next, spans))
		must.That(t, err == nil && reflect.DeepEqual(again, spans), "%v became %v (%v)", spans, again, err)
	})
}
