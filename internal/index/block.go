package index

import (
	"bytes"
	"cmp"
	"database/sql"
	"maps"
	"slices"
)

// blockLetters is how many offsets of a partition a block spans. Letters lie in it in the order of
// their offsets, so that nothing has to say which is which.
const blockLetters = 1024

// part is one kind of what a block has of its letters; each is a row of dead_letter_block. It is
// a closed list (see [parts]).
type part string

const (
	slots part = "slots" // when, how large, which group, pipeline and run: see [slot]
	marks part = "marks" // its state: see [mark]
	boxes part = "boxes" // bounding boxes, where there are any
	words part = "words" // what texts, headers and feature ids there are: see [signature]
)

// parts lists every part.
func parts() []part { return []part{slots, marks, boxes, words} }

// width is how many bytes one cell of a part has, and how many letters share a cell.
func (p part) width() (size, letters int64) {
	switch p {
	case slots:
		return slotBytes, 1
	case marks:
		return markBytes, 1
	case boxes:
		return boxBytes, 1
	default: // words
		return signatureBytes, signatureLetters
	}
}

// bytes is the size of a part.
func (p part) bytes() int64 {
	size, letters := p.width()
	return blockLetters / letters * size
}

// fresh is a part of a block without letters.
func (p part) fresh() []byte {
	if p == boxes {
		return bytes.Repeat([]byte{0xff}, int(p.bytes())) // not a number
	}
	return make([]byte, p.bytes())
}

// cell is a letter's own part of a part.
func (p part) cell(data []byte, offset int64) []byte {
	size, letters := p.width()
	at := offset % blockLetters / letters * size
	return data[at : at+size]
}

// blockKey names a block.
type blockKey struct {
	partition int32
	number    int64
}

func (p place) block() blockKey { return blockKey{p.partition, p.offset / blockLetters} }

// chunkKey names one part of a block.
type chunkKey struct {
	blockKey
	part part
}

func (k chunkKey) compare(o chunkKey) int {
	return cmp.Or(cmp.Compare(k.part, o.part), cmp.Compare(k.partition, o.partition), cmp.Compare(k.number, o.number))
}

// chunk is one part of a block as a transaction has it.
type chunk struct {
	data   []byte
	differ bool // from what the table has
}

// blocks are what one transaction changes in dead_letter_block. The transaction holds the DLQ's
// lock; so what was read does not change under it.
type blocks struct {
	tx  *tx
	dlq int64
	had map[chunkKey]*chunk
}

func (t *tx) blocks(dlq int64) *blocks {
	return &blocks{tx: t, dlq: dlq, had: map[chunkKey]*chunk{}}
}

// chunk reads a part of a block; one that the table does not have is fresh.
func (b *blocks) chunk(k chunkKey) (*chunk, error) {
	if c, ok := b.had[k]; ok {
		return c, nil
	}
	c, stored := &chunk{}, false
	err := b.tx.found("SELECT data FROM @dead_letter_block WHERE dlq = ? AND part = ? AND topic_partition = ? AND block = ?",
		func(rows *sql.Rows) error {
			stored = true
			if err := rows.Scan(&c.data); err != nil {
				return err
			}
			var err error
			c.data, err = k.unseal(c.data)
			return err
		}, b.dlq, string(k.part), k.partition, k.number)
	if err != nil {
		return nil, err
	}
	if !stored {
		c.data = k.part.fresh()
	}
	b.had[k] = c
	return c, nil
}

// cell gives what a part has of a letter, to be changed.
func (b *blocks) cell(p part, at place) ([]byte, error) {
	c, err := b.chunk(chunkKey{at.block(), p})
	if err != nil {
		return nil, err
	}
	c.differ = true
	return p.cell(c.data, at.offset), nil
}

// put enters a letter.
func (b *blocks) put(l *entry, n numbers) error {
	at := l.standing.at
	s := l.slot
	s.group, s.pipeline, s.run = n[l.group], n[l.pipeline], n[l.run]
	cell, err := b.cell(slots, at)
	if err != nil {
		return err
	}
	s.write(cell)
	if cell, err = b.cell(words, at); err != nil {
		return err
	}
	signature(cell).join(l.signature)
	if l.box != nil { // a block without any has no such part
		if cell, err = b.cell(boxes, at); err != nil {
			return err
		}
		writeBox(l.box, cell)
	}
	return b.mark(at, l.standing.mark())
}

// mark sets how a letter stands.
func (b *blocks) mark(at place, m mark) error {
	cell, err := b.cell(marks, at)
	copy(cell, m[:])
	return err
}

// empty takes a letter out. What it said stays in the signature, which may say too much.
func (b *blocks) empty(at place) error { return b.mark(at, mark{}) }

// write stores what differs. A block without letters is removed.
func (b *blocks) write() error {
	vacant := map[blockKey]bool{}
	var rows [][]any
	for _, k := range slices.SortedFunc(maps.Keys(b.had), chunkKey.compare) { // marks before slots and words
		c := b.had[k]
		if k.part == marks && c.differ && len(bytes.Trim(c.data, "\x00")) == 0 {
			vacant[k.blockKey] = true
		}
		if c.differ && !vacant[k.blockKey] {
			rows = append(rows, []any{b.dlq, string(k.part), k.partition, k.number, k.seal(c.data)})
		}
	}
	_, err := b.tx.rows("INSERT INTO @dead_letter_block (dlq, part, topic_partition, block, data) VALUES ", rows,
		" ON CONFLICT (dlq, part, topic_partition, block) DO UPDATE SET data = excluded.data")
	if err != nil {
		return err
	}
	for k := range vacant {
		if err := b.tx.exec("DELETE FROM @dead_letter_block WHERE dlq = ? AND topic_partition = ? AND block = ?", b.dlq, k.partition, k.number); err != nil {
			return err
		}
	}
	return nil
}

// lose marks the letters of a partition before an offset as gone.
func (b *blocks) lose(p int32, before int64) error {
	var numbers []int64
	err := b.tx.found("SELECT block FROM @dead_letter_block WHERE dlq = ? AND part = 'marks' AND topic_partition = ? AND block <= ?",
		func(rows *sql.Rows) error {
			var n int64
			err := rows.Scan(&n)
			numbers = append(numbers, n)
			return err
		}, b.dlq, p, (before-1)/blockLetters)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		c, err := b.chunk(chunkKey{blockKey{p, n}, marks})
		if err != nil {
			return err
		}
		for offset := n * blockLetters; offset < min(before, (n+1)*blockLetters); offset++ {
			cell := marks.cell(c.data, offset)
			if m := mark(cell); !m.empty() && !m.gone() {
				cell[1] |= goneFlag
				c.differ = true
			}
		}
	}
	return nil
}
