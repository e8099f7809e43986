package crs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// These are the limits of a grid file. In addition, no buffer is larger than the file. The largest grid that a national
// survey publishes has 5 million nodes.
const (
	maxGridNodes = 16 << 20 // of all parts of a file: 268 MB on disk and half of that in memory
	maxGridParts = 1000
	maxShift     = 3600. // seconds
)

// ntv2Record is the size of a record of NTv2: a name of 8 bytes and a value of 8 bytes, or the four numbers of a node.
const (
	ntv2Record = 16
	ntv2Head   = 11 // records in the head of the file and of each part
)

// ntv2Reader reads a file in the format NTv2 (Natural Resources Canada, GeoNTv2 developer's guide), in either byte
// order.
type ntv2Reader struct {
	r       io.ReaderAt
	size    int64
	at      int64 // offset of the next byte
	order   binary.ByteOrder
	seconds float64 // seconds per unit of the file
	holes   bool    // a node whose shifts are both exactly 0 has no shift
	nodes   int
}

// decodeNTv2 reads the parts of a file. If holes is true, a node whose shifts are both exactly 0 has no shift: published
// grids mark nodes that they do not cover in this way.
func decodeNTv2(r io.ReaderAt, size int64, holes bool) ([]gridPart, error) {
	d := &ntv2Reader{r: r, size: size, holes: holes}
	count, err := d.overview()
	if err != nil {
		return nil, err
	}
	var parts []gridPart
	byName := map[string]int{}
	for i := range count {
		start := d.at
		part, parent, err := d.part(i, count)
		if err != nil {
			return nil, err
		}
		if _, twice := byName[part.name]; twice {
			return nil, faultf(start, "sub-grid %d of %d has the name %q of an earlier one", i+1, count, part.name)
		}
		byName[part.name] = i
		parts = append(parts, *part)
		if parent == "NONE" {
			continue
		}
		above, known := byName[parent]
		if !known || above == i {
			return nil, faultf(start+ntv2Record, "sub-grid %d of %d (%s) has the parent %q, which is not before it", i+1, count, part.name, parent)
		}
		parts[above].children = append(parts[above].children, i)
	}
	return parts, nil
}

// read fills a buffer with the next bytes.
func (d *ntv2Reader) read(buffer []byte) error {
	if d.size-d.at < int64(len(buffer)) {
		return faultf(d.at, "the file ends after %d bytes: it is truncated", d.size)
	}
	if _, err := d.r.ReadAt(buffer, d.at); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("byte %d: %w", d.at, err)
	}
	d.at += int64(len(buffer))
	return nil
}

// head reads the records of a head. The first record must have the name first.
func (d *ntv2Reader) head(first string) ([]byte, error) {
	head := make([]byte, ntv2Head*ntv2Record)
	start := d.at
	if err := d.read(head); err != nil {
		return nil, err
	}
	if got := text(head[:8]); got != first {
		return nil, faultf(start, "%q is where %s should be: this is no NTv2 file, or damaged", got, first)
	}
	return head, nil
}

// overview reads the head of the file and returns the number of its parts.
func (d *ntv2Reader) overview() (int, error) {
	head, err := d.head("NUM_OREC")
	if err != nil {
		return 0, err
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if order.Uint32(head[8:]) == ntv2Head {
			d.order = order
		}
	}
	if d.order == nil || d.order.Uint32(head[24:]) != ntv2Head {
		return 0, faultf(8, "the heads do not have %d records: this is a variant of NTv2 that is not read", ntv2Head)
	}
	switch unit := text(head[56:64]); unit {
	case "SECONDS":
		d.seconds = 1
	case "MINUTES":
		d.seconds = 60
	case "DEGREES":
		d.seconds = 3600
	default:
		return 0, faultf(56, "the unit of the shifts is %q, not SECONDS, MINUTES or DEGREES", unit)
	}
	count := d.order.Uint32(head[40:])
	if count < 1 || count > maxGridParts {
		return 0, faultf(40, "it has %d sub-grids; 1 to %d are read", count, maxGridParts)
	}
	return int(count), nil
}

// part reads the head and the nodes of a part. It returns the name of the part that contains it.
func (d *ntv2Reader) part(i, count int) (*gridPart, string, error) {
	start := d.at
	head, err := d.head("SUB_NAME")
	if err != nil {
		return nil, "", err
	}
	number := func(record int) float64 {
		return math.Float64frombits(d.order.Uint64(head[record*ntv2Record+8:])) * d.seconds / 3600
	}
	south, north, east, west := number(4), number(5), -number(6), -number(7)
	p := &gridPart{
		name: text(head[8:16]), box: Bounds{MinX: west, MinY: south, MaxX: east, MaxY: north},
		stepY: number(8), stepX: number(9),
	}
	who := fmt.Sprintf("sub-grid %d of %d (%s)", i+1, count, p.name)
	var okX, okY bool
	p.columns, okX = nodesBetween(west, east, p.stepX)
	p.rows, okY = nodesBetween(south, north, p.stepY)
	world := Bounds{-360, -90, 360, 90}
	if !okX || !okY || !world.Contains(west, south) || !world.Contains(east, north) {
		return nil, "", faultf(start+4*ntv2Record, "%s reaches from longitude %g to %g by %g, latitude %g to %g by %g, which is no grid",
			who, west, east, p.stepX, south, north, p.stepY)
	}
	nodes := int64(p.columns) * int64(p.rows)
	if stated := d.order.Uint32(head[10*ntv2Record+8:]); int64(stated) != nodes {
		return nil, "", faultf(start+10*ntv2Record, "%s has %d columns and %d rows, and states %d nodes", who, p.columns, p.rows, stated)
	}
	if left := d.size - d.at; nodes*ntv2Record > left {
		return nil, "", faultf(d.at, "%s has %d nodes, which are %d bytes, and the file has %d left: it is truncated", who, nodes, nodes*ntv2Record, left)
	}
	if nodes > int64(maxGridNodes-d.nodes) {
		return nil, "", faultf(start+10*ntv2Record, "%s brings the file to more than %d nodes, which is the limit", who, maxGridNodes)
	}
	d.nodes += int(nodes)
	return p, text(head[24:32]), d.fill(p, who)
}

// nodesBetween returns the number of nodes in a row that runs from one place to another. It returns false if there are
// fewer than two, or if the ends are not nodes.
func nodesBetween(from, to, step float64) (int, bool) {
	steps := (to - from) / step
	whole := math.Round(steps)
	if !(step > 0 && whole >= 1 && whole <= maxGridNodes && math.Abs(steps-whole) < 0.01) { // written so that NaN fails
		return 0, false
	}
	return int(whole) + 1, true
}

// fill reads the nodes of a part.
func (d *ntv2Reader) fill(p *gridPart, who string) error {
	p.values = make([]float32, 0, 2*p.columns*p.rows)
	line := make([]byte, p.columns*ntv2Record)
	for range p.rows {
		start := d.at
		if err := d.read(line); err != nil {
			return err
		}
		for i := range p.columns {
			lat, lon := d.shift(line[i*ntv2Record:]), d.shift(line[i*ntv2Record+4:])
			if !(math.Abs(lat) <= maxShift && math.Abs(lon) <= maxShift) {
				return faultf(start+int64(i*ntv2Record), "%s has a node that is shifted by %g and %g seconds, which no datum is", who, lat, lon)
			}
			if d.holes && lat == 0 && lon == 0 {
				lat, lon = math.NaN(), math.NaN()
			}
			p.values = append(p.values, float32(lat), float32(lon))
		}
	}
	return nil
}

// shift decodes one number of a node, in seconds.
func (d *ntv2Reader) shift(b []byte) float64 {
	return float64(math.Float32frombits(d.order.Uint32(b))) * d.seconds
}

// text returns a name without its padding.
func text(b []byte) string { return cut(strings.TrimRight(string(b), " \x00")) }
