package crs

import "math"

// gridFile is a loaded grid of shifts in latitude and longitude.
type gridFile struct {
	name     string // name of the file
	reversed bool   // the grid leads from the newer datum to the older one
	parts    []gridPart
	tops     []int // the parts that lie in no other part
}

// gridPart is a rectangle of nodes. Denser parts can lie inside it.
type gridPart struct {
	name         string
	box          Bounds // degrees; MinX is less than MaxX and can be below -180
	stepX, stepY float64
	columns      int
	rows         int

	// values holds the shift in latitude and in longitude of each node, in seconds. Rows run from south to north and
	// columns from east to west; longitude grows westwards, as in the file. NaN is a node without a shift.
	values   []float32
	children []int
}

// edge is the distance in steps by which a point may lie outside of a part because its digits were rounded.
const edge = 1e-5

// place returns the longitude of a point in the range of the part, and whether the point lies in the part.
func (p *gridPart) place(lon, lat float64) (float64, bool) {
	slack := edge * (p.stepX + p.stepY)
	if lon < p.box.MinX-slack {
		lon += 360
	} else if lon > p.box.MaxX+slack {
		lon -= 360
	}
	return lon, lon >= p.box.MinX-slack && lon <= p.box.MaxX+slack && lat >= p.box.MinY-slack && lat <= p.box.MaxY+slack
}

// at returns the densest part that contains a point, or nil.
func (f *gridFile) at(lon, lat float64) *gridPart {
	var found *gridPart
	candidates := f.tops
	for i := 0; i < len(candidates); i++ {
		part := &f.parts[candidates[i]]
		if _, inside := part.place(lon, lat); inside {
			found, candidates, i = part, part.children, -1
		}
	}
	return found
}

// shift interpolates the shift of a point in degrees, eastwards and northwards, between the four nodes around it (EPSG
// method 9615). It returns false if the point is outside of the part or one of the nodes has no shift.
func (p *gridPart) shift(lon, lat float64) (dLon, dLat float64, ok bool) {
	lon, ok = p.place(lon, lat)
	if !ok {
		return 0, 0, false
	}
	i, u := cell((p.box.MaxX-lon)/p.stepX, p.columns)
	j, v := cell((lat-p.box.MinY)/p.stepY, p.rows)
	south := p.values[2*(j*p.columns+i):]
	north := south[2*p.columns:]
	dLat = mix(mix(float64(south[0]), float64(south[2]), u), mix(float64(north[0]), float64(north[2]), u), v)
	west := mix(mix(float64(south[1]), float64(south[3]), u), mix(float64(north[1]), float64(north[3]), u), v)
	return -west / 3600, dLat / 3600, !math.IsNaN(dLat + west)
}

// cell returns the cell of a place between nodes, and the fraction of the cell before the place.
func cell(place float64, nodes int) (int, float64) {
	i := max(0, min(int(math.Floor(place)), nodes-2))
	return i, max(0, min(1, place-float64(i)))
}

// The inverse is computed by iteration.
const (
	maxSteps   = 12
	converged  = 1e-12 // degrees: 0.1 µm
	stillClose = 1e-10 // accepted if the last bits do not settle
)

// apply shifts a point in degrees. It returns false if the grid has no shift for it.
func (f *gridFile) apply(lon, lat float64, backwards bool) (float64, float64, bool) {
	part := f.at(lon, lat)
	if part == nil {
		return 0, 0, false
	}
	dLon, dLat, ok := part.shift(lon, lat)
	if !backwards || !ok {
		return wrap(lon + dLon), lat + dLat, ok
	}
	// Find the point that the shift moves to lon, lat. The iteration changes from one part to another only at the edge,
	// so that it cannot alternate between two parts that differ there.
	x, y := lon-dLon, lat-dLat
	off := math.Inf(1)
	for range maxSteps {
		if _, inside := part.place(x, y); !inside {
			if part = f.at(x, y); part == nil {
				return 0, 0, false
			}
		}
		if dLon, dLat, ok = part.shift(x, y); !ok {
			return 0, 0, false
		}
		offX, offY := x+dLon-lon, y+dLat-lat
		x, y = x-offX, y-offY
		if off = math.Abs(offX) + math.Abs(offY); off < converged {
			break
		}
	}
	return wrap(x), y, off < stillClose
}
