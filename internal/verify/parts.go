package verify

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// parts is what is known of the parts of one record: a bit for each delivered part, and details of those that died
// separately.
type parts struct {
	delivered []uint64
	own       map[int]*own // by index
	outputs   int          // parts in the output, each counted once
}

// own is a part that has a place of its own.
type own struct{ outputs, letters, replays, open, moving int }

// add adds a record of the output or the DLQ that is of a part.
func (p *parts) add(in PlaceKind, part header.Part) {
	if in == InDLQ {
		p.of(part.Index).letters++
		return
	}
	if part.Index >= header.MaxParts {
		return
	}
	word, bit := part.Index/64, uint64(1)<<(part.Index%64)
	for len(p.delivered) <= word {
		p.delivered = append(p.delivered, 0)
	}
	if p.delivered[word]&bit != 0 {
		p.of(part.Index).outputs++ // after the first one
		return
	}
	p.delivered[word] |= bit
	p.outputs++
}

func (p *parts) of(index int) *own {
	if p.own[index] == nil {
		p.own[index] = &own{}
	}
	return p.own[index]
}

// has reports whether a part is in the output.
func (p *parts) has(index int) bool {
	return index/64 < len(p.delivered) && p.delivered[index/64]&(1<<(index%64)) != 0
}

const maxOffset = 1<<63 - 1
