package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// compareBlocks compares all rows with their blocks, one block after the other.
func (c *checker) compareBlocks(ctx context.Context) error {
	return c.store.reading(ctx, func(t *tx) error {
		d := &DLQ{store: c.store, number: c.dlq, topic: c.src.DLQ}
		keys, err := d.keys(t, &chooser{})
		if err != nil {
			return err
		}
		inBlocks := 0
		for _, k := range keys {
			n, err := c.compareBlock(t, k)
			if err != nil {
				return err
			}
			inBlocks += n
		}
		var rows int
		if err := t.row("SELECT count(*) FROM @dead_letter_queue WHERE dlq = ?", c.dlq).Scan(&rows); err != nil {
			return err
		}
		if inBlocks != rows {
			c.fault("block", "%d dead letters are in blocks, and there are %d rows", inBlocks, rows)
		}
		return nil
	})
}

// blockRow is what a block has to say of a row.
type blockRow struct {
	at                   place
	standing             standing
	slot                 slot
	group, pipeline, run string
	box                  *deadletters.BBox
	signature            signature
}

// compareBlock compares one block and says how many letters are in it.
func (c *checker) compareBlock(t *tx, k blockKey) (letters int, err error) {
	b := t.blocks(c.dlq)
	data := map[part][]byte{}
	for _, p := range parts() {
		read, err := b.chunk(chunkKey{k, p})
		if err != nil {
			return 0, err
		}
		data[p] = read.data
	}
	for offset := range int64(blockLetters) {
		if !mark(marks.cell(data[marks], offset)).empty() {
			letters++
		}
	}
	var rows []blockRow
	if rows, err = t.blockRows(c.dlq, k); err != nil {
		return letters, err
	}
	var wanted []name
	for _, r := range rows {
		wanted = append(wanted, name{groupName, r.group}, name{pipelineName, r.pipeline}, name{runName, r.run})
	}
	have := numbers{}
	for _, kind := range nameKinds() {
		if err := t.numbered(c.dlq, kind, textsOf(kind, wanted, have), have); err != nil {
			return letters, err
		}
	}
	for i := range rows {
		c.compareCell(&rows[i], data, have)
	}
	return letters, nil
}

// compareCell compares what a block has of one row.
func (c *checker) compareCell(r *blockRow, data map[part][]byte, have numbers) {
	cell := func(p part) []byte { return p.cell(data[p], r.at.offset) }
	want := r.slot
	want.group, want.pipeline, want.run = have[name{groupName, r.group}], have[name{pipelineName, r.pipeline}], have[name{runName, r.run}]
	if got := readSlot(cell(slots)); got != want {
		c.fault("block", "the dead letter at %d/%d has %+v in its block, and %+v in its row", r.at.partition, r.at.offset, got, want)
	}
	if got := mark(cell(marks)); got != r.standing.mark() {
		c.fault("block", "the state of the dead letter at %d/%d is %v in its block, and %v in its row", r.at.partition, r.at.offset, got, r.standing.mark())
	}
	if box, ok := readBox(cell(boxes)); ok != (r.box != nil) || ok && box != *r.box {
		c.fault("block", "the box of the dead letter at %d/%d is another in its block than in its row", r.at.partition, r.at.offset)
	}
	if !r.signature.within(cell(words)) {
		c.fault("block", "the signature of the dead letter at %d/%d lacks something of its row", r.at.partition, r.at.offset)
	}
}

// blockRows reads the rows of one block, gone ones too.
func (t *tx) blockRows(dlq int64, k blockKey) (out []blockRow, err error) {
	err = t.found("SELECT dlq_offset, status, gone, replay_count, reprocess_count, rejected_at, first_rejected_at, value_size, group_id, pipeline_name, run_id, "+
		"west, south, east, north, error_message, feature_id, key_bytes, value_bytes, raw_record, headers FROM @dead_letter_queue "+
		"WHERE dlq = ? AND dlq_partition = ? AND dlq_offset BETWEEN ? AND ?", func(rows *sql.Rows) error {
		r, err := readBlockRow(rows, k.partition)
		out = append(out, r)
		return err
	}, dlq, k.partition, k.number*blockLetters, (k.number+1)*blockLetters-1)
	return out, err
}

func readBlockRow(rows *sql.Rows, partition int32) (blockRow, error) {
	r := blockRow{at: place{partition: partition}}
	var x row
	var gone int
	var edges [4]sql.NullFloat64
	s := &r.standing
	err := rows.Scan(&r.at.offset, &s.status, &gone, &s.replays, &s.reworked, stamp{&x.At}, stamp{&x.FirstAt}, &r.slot.size, &r.group, &r.pipeline, &r.run,
		&edges[0], &edges[1], &edges[2], &edges[3], &x.Control.ErrorMessage, &x.Control.FeatureID, &x.Key, &x.bytes, &x.raw, &x.headers)
	if err != nil {
		return r, err
	}
	s.gone, r.slot.at = gone == 1, x.At.UnixMilli()
	r.slot.since = between(x.FirstAt.UnixMilli(), r.slot.at)
	if edges[0].Valid {
		r.box = &deadletters.BBox{West: edges[0].Float64, South: edges[1].Float64, East: edges[2].Float64, North: edges[3].Float64}
	}
	r.signature, err = signatureOfRow(&x, int(r.slot.size))
	return r, err
}

// signatureOfRow is signatureOf for what a row has: of headers that are no text, or too long, no
// filter can ask for the value.
func signatureOfRow(x *row, size int) (signature, error) {
	s := make(signature, signatureBytes)
	value := x.bytes
	if value == nil && size > 0 {
		value = []byte(x.raw)
	}
	s.add(x, value)
	var headers []struct {
		Name  string  `json:"k"`
		Value *string `json:"v"`
	}
	if err := json.Unmarshal([]byte(x.headers), &headers); err != nil {
		return nil, fmt.Errorf("read the headers of a row: %w", err)
	}
	for _, h := range headers {
		s.header(h.Name, h.Value)
	}
	return s, nil
}
