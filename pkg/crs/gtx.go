package crs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// What bounds a file of heights, besides that nothing is made larger than the file is.
const (
	maxHeightNodes = 48 << 20 // 201 MB; EGM2008 by 2.5' has 37 million
	maxGeoid       = 200.     // metres; no geoid is farther from its ellipsoid than 110
	gtxHead        = 40       // bytes
	gtxNoData      = -88.8888 // as float32
)

// heightGrid is a loaded grid of the heights of a geoid over its ellipsoid.
type heightGrid struct {
	name         string // of the file
	west, south  float64
	stepX, stepY float64 // degrees
	columns      int
	rows         int
	world        bool      // it goes round the Earth
	values       []float32 // metres, rows from south to north, columns from west to east; NaN is unknown
}

// decodeGTX reads a file in the format GTX (NOAA VDatum): a head of big-endian
// numbers, and a node for each height.
func decodeGTX(r io.ReaderAt, size int64) (*heightGrid, error) {
	head := make([]byte, gtxHead)
	if size < gtxHead {
		return nil, faultf(0, "the file has %d bytes, and the head alone %d: it is truncated", size, gtxHead)
	}
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, err
	}
	number := func(i int) float64 { return math.Float64frombits(binary.BigEndian.Uint64(head[8*i:])) }
	g := &heightGrid{south: number(0), west: number(1), stepY: number(2), stepX: number(3)}
	rows, columns := int64(int32(binary.BigEndian.Uint32(head[32:]))), int64(int32(binary.BigEndian.Uint32(head[36:])))
	nodes := rows * columns
	switch {
	case rows < 2 || columns < 2 || rows > maxHeightNodes || columns > maxHeightNodes || nodes > maxHeightNodes:
		return nil, faultf(32, "it has %d rows and %d columns; 2 of each to %d nodes are read", rows, columns, maxHeightNodes)
	case nodes*4 != size-gtxHead:
		return nil, faultf(32, "it has %d rows and %d columns, which are %d bytes, and the file has %d after its head", rows, columns, nodes*4, size-gtxHead)
	}
	east, north := g.west+float64(columns-1)*g.stepX, g.south+float64(rows-1)*g.stepY
	world := Bounds{-360 - edge, -90 - edge, 360 + edge, 90 + edge}
	if !(g.stepX > 0 && g.stepY > 0 && world.Contains(g.west, g.south) && world.Contains(east, north) && east-g.west <= 360+edge) {
		return nil, faultf(0, "it reaches from longitude %g to %g by %g, latitude %g to %g by %g, which is no grid", g.west, east, g.stepX, g.south, north, g.stepY)
	}
	g.rows, g.columns = int(rows), int(columns)
	g.world = math.Abs(east-g.west+g.stepX-360) < edge
	return g, g.fill(r)
}

// fill reads the nodes, row by row.
func (g *heightGrid) fill(r io.ReaderAt) error {
	g.values = make([]float32, 0, g.rows*g.columns)
	line := make([]byte, 4*g.columns)
	known := 0
	for row := range g.rows {
		start := int64(gtxHead + row*len(line))
		if _, err := r.ReadAt(line, start); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("byte %d: %w", start, err)
		}
		for i := range g.columns {
			v := math.Float32frombits(binary.BigEndian.Uint32(line[4*i:]))
			switch {
			case v == gtxNoData:
				v = float32(math.NaN())
			case !(math.Abs(float64(v)) <= maxGeoid):
				return faultf(start+int64(4*i), "a node has the height %g m, which no geoid has", v)
			default:
				known++
			}
			g.values = append(g.values, v)
		}
	}
	if known == 0 {
		return faultf(gtxHead, "no node has a height")
	}
	return nil
}

// at interpolates the height between the four nodes around a point in degrees; false
// where one of them is not known.
func (g *heightGrid) at(lon, lat float64) (float64, bool) {
	across, up := (lon-g.west)/g.stepX, (lat-g.south)/g.stepY
	turn, last := 360/g.stepX, float64(g.columns-1)
	if g.world {
		last = turn
	}
	if across < -edge {
		across += turn
	} else if across > last+edge {
		across -= turn
	}
	if !(across >= -edge && across <= last+edge && up >= -edge && up <= float64(g.rows-1)+edge) { // also for NaN
		return 0, false
	}
	nodes := g.columns
	if g.world {
		nodes++ // the first column again
	}
	i, u := cell(across, nodes)
	j, v := cell(up, g.rows)
	next := (i + 1) % g.columns
	south, north := g.values[j*g.columns:], g.values[(j+1)*g.columns:]
	height := mix(mix(float64(south[i]), float64(south[next]), u), mix(float64(north[i]), float64(north[next]), u), v)
	return height, !math.IsNaN(height)
}
