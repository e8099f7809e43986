package index

import (
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// scanBlocks is how many blocks are read at once.
const scanBlocks = 32

// candidate is a letter that a chooser chose.
type candidate struct {
	place
	slot
	mark
}

// chooser decides by blocks which letters a query selects. Texts, headers and feature ids are not
// in them: of these it only knows what cannot be.
type chooser struct {
	gone, both   bool   // those that are gone, or there; both of them
	statuses     []bool // by their numbers in marks; nil selects all
	groups       []bool // by their numbers; nil selects all
	pipelines    []bool
	runs         []bool
	since, until int64 // milliseconds
	box          *deadletters.BBox
	demand       demand
	only         map[place]bool // nil selects all
}

// chooser makes one. Names that the DLQ does not have select nothing.
func (d *DLQ) chooser(t *tx, q Query) (*chooser, error) {
	c := &chooser{gone: q.Gone, since: math.MinInt64, until: math.MaxInt64, box: q.BBox, demand: demandOf(q.Filter)}
	if !q.Since.IsZero() {
		c.since = milliseconds(q.Since)
	}
	if !q.Until.IsZero() {
		c.until = milliseconds(q.Until)
	}
	if len(q.Statuses) > 0 {
		c.statuses = make([]bool, len(markStatuses())+1)
		for _, s := range q.Statuses {
			c.statuses[numberOf(s)] = true
		}
	}
	for _, wanted := range []struct {
		kind  nameKind
		texts []string
		to    *[]bool
	}{{groupName, q.Groups, &c.groups}, {pipelineName, q.Pipelines, &c.pipelines}, {runName, q.Runs, &c.runs}} {
		if len(wanted.texts) == 0 {
			continue
		}
		have := numbers{}
		if err := t.numbered(d.number, wanted.kind, unique(wanted.texts), have); err != nil {
			return nil, err
		}
		*wanted.to = flags(have)
	}
	return c, d.byCode(t, c, q.Codes)
}

// byCode leaves only the groups with one of the codes.
func (d *DLQ) byCode(t *tx, c *chooser, codes []string) error {
	if len(codes) == 0 {
		return nil
	}
	groups, err := d.causes(t)
	if err != nil {
		return err
	}
	have := numbers{}
	for number, g := range groups {
		if slices.Contains(codes, g.Code) && (c.groups == nil || flagged(c.groups, number)) {
			have[name{groupName, g.ID}] = number
		}
	}
	c.groups = flags(have)
	return nil
}

// milliseconds rounds up, so that "at or after" and "before" mean the same as with the exact time
// to times that are whole milliseconds.
func milliseconds(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

func unique(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// flags is a set of numbers, which are small.
func flags(of numbers) []bool {
	out := []bool{}
	for _, number := range of {
		out = grown(out, number)
		out[number] = true
	}
	return out
}

func flagged(set []bool, number uint32) bool { return int(number) < len(set) && set[number] }

// nothing reports whether no letter can be chosen.
func (c *chooser) nothing() bool {
	for _, set := range [][]bool{c.groups, c.pipelines, c.runs} {
		if set != nil && !slices.Contains(set, true) {
			return true
		}
	}
	return false
}

// view is a block as it is read.
type view struct {
	blockKey
	slots, marks, boxes, words sql.RawBytes
}

// unseal takes the checksums off the parts that were read.
func (v *view) unseal() error {
	for p, data := range map[part]*sql.RawBytes{slots: &v.slots, marks: &v.marks, boxes: &v.boxes, words: &v.words} {
		if *data == nil {
			continue // not asked for, or there is none
		}
		own, err := chunkKey{v.blockKey, p}.unseal(*data)
		if err != nil {
			return err
		}
		*data = own
	}
	return nil
}

// choose adds the letters of a block that are chosen.
func (c *chooser) choose(v *view, to []candidate) []candidate {
	base := v.number * blockLetters
	for i := int64(0); i < blockLetters; i++ {
		if i%signatureLetters == 0 && len(c.demand) > 0 && !c.demand.metBy(signature(words.cell(v.words, i))) {
			i += signatureLetters - 1
			continue
		}
		m := mark{v.marks[i*markBytes], v.marks[i*markBytes+1]}
		if m.empty() || !c.both && m.gone() != c.gone || len(c.statuses) > 0 && !c.statuses[m[0]] {
			continue
		}
		s := readSlot(v.slots[i*slotBytes:])
		if !c.takes(s) || c.box != nil && !c.inBox(v, i) {
			continue
		}
		if at := (place{v.partition, base + i}); c.only == nil || c.only[at] {
			to = append(to, candidate{place: at, slot: s, mark: m})
		}
	}
	return to
}

func (c *chooser) takes(s slot) bool {
	return s.at >= c.since && s.at < c.until && (c.groups == nil || flagged(c.groups, s.group)) &&
		(c.pipelines == nil || flagged(c.pipelines, s.pipeline)) && (c.runs == nil || flagged(c.runs, s.run))
}

func (c *chooser) inBox(v *view, i int64) bool {
	if v.boxes == nil {
		return false
	}
	box, ok := readBox(boxes.cell(v.boxes, i))
	return ok && c.box.Meets(box)
}

// scan goes through the blocks and calls fn with the letters chosen of some of them, in the order
// of the partitions and offsets. The slice is used again. Looked may be nil.
func (d *DLQ) scan(t *tx, c *chooser, looked func(done, total int), fn func([]candidate) error) error {
	if c.nothing() {
		return nil
	}
	keys, err := d.keys(t, c)
	if err != nil {
		return err
	}
	text := c.scanText()
	var chosen []candidate
	for i := 0; i < len(keys); {
		n := i + 1
		for n < len(keys) && n-i < scanBlocks && keys[n].partition == keys[i].partition {
			n++
		}
		chosen = chosen[:0]
		err := t.found(text, func(rows *sql.Rows) error {
			v := view{blockKey: blockKey{partition: keys[i].partition}}
			targets := []any{&v.number, &v.slots, &v.marks}
			if c.box != nil {
				targets = append(targets, &v.boxes)
			}
			if len(c.demand) > 0 {
				targets = append(targets, &v.words)
			}
			if err := rows.Scan(targets...); err != nil {
				return err
			}
			if err := v.unseal(); err != nil {
				return err
			}
			chosen = c.choose(&v, chosen)
			return nil
		}, d.number, keys[i].partition, keys[i].number, keys[n-1].number)
		if err != nil {
			return err
		}
		if err := fn(chosen); err != nil {
			return err
		}
		if i = n; looked != nil {
			looked(i, len(keys))
		}
	}
	return nil
}

// keys lists the blocks in which letters can be chosen.
func (d *DLQ) keys(t *tx, c *chooser) ([]blockKey, error) {
	only := map[blockKey]bool{}
	for at := range c.only {
		only[at.block()] = true
	}
	var out []blockKey
	err := t.found("SELECT topic_partition, block FROM @dead_letter_block WHERE dlq = ? AND part = 'marks' ORDER BY topic_partition, block",
		func(rows *sql.Rows) error {
			var k blockKey
			err := rows.Scan(&k.partition, &k.number)
			if c.only == nil || only[k] {
				out = append(out, k)
			}
			return err
		}, d.number)
	return out, err
}

// scanText is the query for some blocks of a partition, with the parts that the chooser needs.
func (c *chooser) scanText() string {
	columns, from := "m.block, s.data, m.data", "@dead_letter_block AS m JOIN @dead_letter_block AS s ON "+samePlace("s", slots)
	if c.box != nil {
		columns, from = columns+", b.data", from+" LEFT JOIN @dead_letter_block AS b ON "+samePlace("b", boxes)
	}
	if len(c.demand) > 0 {
		columns, from = columns+", w.data", from+" JOIN @dead_letter_block AS w ON "+samePlace("w", words)
	}
	return "SELECT " + columns + " FROM " + from +
		" WHERE m.dlq = ? AND m.part = 'marks' AND m.topic_partition = ? AND m.block BETWEEN ? AND ? ORDER BY m.block"
}

func samePlace(table string, p part) string {
	return table + ".dlq = m.dlq AND " + table + ".part = '" + string(p) + "' AND " + table + ".topic_partition = m.topic_partition AND " + table + ".block = m.block"
}
