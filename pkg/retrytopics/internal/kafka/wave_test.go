package kafka

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// A record that has to be alone shares its batch with none, though a record without a key may come into the batch of any partition.
func TestWave(t *testing.T) {
	t.Parallel()
	type record struct {
		partition int32
		size      int
		alone     bool
	}
	const anywhere = unknownPartition
	for name, c := range map[string]struct {
		records []record
		goes    []bool
	}{
		"by partition":                  {[]record{{0, 60, false}, {1, 60, false}, {0, 40, false}, {0, 1, false}}, []bool{true, true, true, false}},
		"one too many shuts":            {[]record{{0, 60, false}, {0, 60, false}, {0, 1, false}}, []bool{true, false, false}},
		"alone, and others elsewhere":   {[]record{{0, 1, true}, {0, 1, false}, {1, 1, false}, {1, 1, true}, {2, 1, true}}, []bool{true, false, true, false, true}},
		"anywhere after alone":          {[]record{{0, 1, true}, {anywhere, 1, false}, {1, 1, false}}, []bool{true, false, true}},
		"alone after anywhere":          {[]record{{anywhere, 1, false}, {0, 1, true}, {0, 1, false}}, []bool{true, false, false}},
		"alone anywhere, first":         {[]record{{anywhere, 1, true}, {0, 1, false}, {anywhere, 1, false}, {1, 1, true}}, []bool{true, false, false, false}},
		"alone anywhere, behind":        {[]record{{0, 1, false}, {anywhere, 1, true}, {0, 1, false}}, []bool{true, false, true}},
		"anywhere counts everywhere":    {[]record{{anywhere, 60, false}, {0, 60, false}, {1, 40, false}, {anywhere, 1, false}}, []bool{true, false, true, false}},
		"anywhere beside the largest":   {[]record{{0, 60, false}, {1, 10, false}, {anywhere, 50, false}, {anywhere, 30, false}}, []bool{true, true, false, false}},
		"larger than the limit":         {[]record{{0, 200, true}, {0, 1, false}, {anywhere, 1, false}}, []bool{true, false, false}},
		"larger than the limit, second": {[]record{{0, 1, false}, {0, 200, true}, {0, 1, false}, {1, 200, true}}, []bool{true, false, false, true}},
	} {
		w := &wave{limit: 100, bytes: map[int32]int{}, shut: map[int32]bool{}}
		for i, r := range c.records {
			expect.Equal(t, w.take(r.partition, r.size, r.alone), c.goes[i], name, "record", i, "goes")
		}
	}
}
