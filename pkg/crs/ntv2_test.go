package crs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func goodNTv2(t testing.TB) []byte {
	t.Helper()
	return must.Get(os.ReadFile("testdata/grids/BETA2007.gsb"))(t)
}

// change returns a copy of a file with other bytes at a place.
func change(raw []byte, at int, b ...byte) []byte {
	out := bytes.Clone(raw)
	copy(out[at:], b)
	return out
}

func float64Bytes(v float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

func float32Bytes(v float32) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
}

// Each fault is reported with its place. A size that the file only claims is refused before memory is allocated:
// 2147483647 nodes would not fit.
func TestDecodeNTv2_refuses_damaged_files(t *testing.T) {
	good := goodNTv2(t)
	const (
		first  = 176              // head of the first part
		nodes  = first + 176      // its nodes
		second = nodes + 22*18*16 // head of the second part
	)
	huge := []byte{0xff, 0xff, 0xff, 0x7f}
	for name, c := range map[string]struct {
		raw []byte
		has string
		at  int64
	}{
		"empty":               {nil, "it is truncated", 0},
		"head_cut":            {good[:100], "the file ends after 100 bytes", 0},
		"only_a_head":         {good[:first], "the file ends after 176 bytes", first},
		"nodes_cut":           {good[:nodes+100], "has 396 nodes, which are 6336 bytes, and the file has 100 left", nodes},
		"second_part_cut":     {good[:second+10], "it is truncated", second},
		"last_node_cut":       {good[:len(good)-17], "it is truncated", second + 176},
		"another_format":      {change(good, 0, 'T', 'I', 'F', 'F'), `"TIFF`, 0},
		"part_of_nothing":     {change(good, first, 'X'), `is where SUB_NAME should be`, first},
		"other_heads":         {change(good, 8, 12), "variant of NTv2", 8},
		"no_parts":            {change(good, 40, 0), "it has 0 sub-grids", 40},
		"giant_count":         {change(good, 40, huge...), "it has 2147483647 sub-grids", 40},
		"more_parts_stated":   {change(good, 40, 3), "it is truncated", int64(len(good)) - 16},
		"unit":                {change(good, 56, 'F', 'E', 'E', 'T', ' ', ' ', ' '), `the unit of the shifts is "FEET`, 56},
		"giant_nodes":         {change(good, first+168, huge...), "and states 2147483647 nodes", first + 160},
		"giant_step":          {change(good, first+16*9+8, float64Bytes(1e300)...), "which is no grid", first + 64},
		"tiny_step":           {change(good, first+16*9+8, float64Bytes(1e-300)...), "which is no grid", first + 64},
		"zero_step":           {change(good, first+16*8+8, float64Bytes(0)...), "which is no grid", first + 64},
		"negative_step":       {change(good, first+16*8+8, float64Bytes(-1800)...), "which is no grid", first + 64},
		"nan_step":            {change(good, first+16*8+8, float64Bytes(math.NaN())...), "which is no grid", first + 64},
		"nan_edge":            {change(good, first+16*4+8, float64Bytes(math.NaN())...), "which is no grid", first + 64},
		"infinite_edge":       {change(good, first+16*5+8, float64Bytes(math.Inf(1))...), "which is no grid", first + 64},
		"north_of_the_pole":   {change(good, first+16*5+8, float64Bytes(95*3600)...), "which is no grid", first + 64},
		"edge_beside_a_node":  {change(good, first+16*4+8, float64Bytes(47.1*3600)...), "which is no grid", first + 64},
		"south_above_north":   {change(good, first+16*4+8, float64Bytes(56*3600)...), "which is no grid", first + 64},
		"nan_node":            {change(good, nodes+16, float32Bytes(float32(math.NaN()))...), "is shifted by NaN", nodes + 16},
		"infinite_node":       {change(good, nodes+4, float32Bytes(float32(math.Inf(-1)))...), "-Inf seconds", nodes},
		"absurd_node":         {change(good, nodes, float32Bytes(7200)...), "is shifted by 7200", nodes},
		"unknown_parent":      {change(good, second+24, 'N', 'O', 'N', 'S', 'E', 'N', 'S', 'E'), `has the parent "NONSENSE", which is not before it`, second + 16},
		"its_own_parent":      {change(good, second+24, 'M', 'I', 'D', 'D', 'L', 'E', ' ', ' '), `has the parent "MIDDLE"`, second + 16},
		"the_same_name_twice": {change(good, second+8, 'A', 'L', 'L', ' ', ' ', ' ', ' ', ' '), `has the name "ALL" of an earlier one`, second},
	} {
		_, err := decodeNTv2(bytes.NewReader(c.raw), int64(len(c.raw)), true)
		fault := new(gridFault)
		expect.That(t, errors.As(err, &fault) && strings.Contains(err.Error(), c.has) && fault.offset == c.at, "%v: got %v at %+v, want %q at %d", name, err, fault, c.has, c.at)
	}
}

// A file that is as large as it claims is limited too.
func TestDecodeNTv2_limits_the_nodes(t *testing.T) {
	const side = 4097 // nodes; the limit is almost four times that
	part := func(name string) []byte {
		head := bytes.Clone(goodNTv2(t)[176 : 176+176])
		copy(head[8:16], name)
		for record, v := range map[int]float64{4: 0, 5: side - 1, 6: -side + 1, 7: 0, 8: 1, 9: 1} {
			copy(head[16*record+8:], float64Bytes(v))
		}
		binary.LittleEndian.PutUint32(head[168:], side*side)
		return head
	}
	r := &sparse{head: append(bytes.Clone(goodNTv2(t)[:176]), part("FIRST   ")...)}
	_, err := decodeNTv2(r, 1<<40, false)
	expect.That(t, err != nil && strings.Contains(err.Error(), "more than 16777216 nodes"), "got %v", err)
}

// sparse is a file whose rest is zeros.
type sparse struct{ head []byte }

func (s *sparse) ReadAt(b []byte, at int64) (int, error) {
	clear(b)
	if at < int64(len(s.head)) {
		copy(b, s.head[at:])
	}
	return len(b), nil
}

// A pipe in the folder is refused at once.
func TestOpenGrids_does_not_wait_for_a_pipe(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "BETA2007.gsb"), 0o600))
	done := make(chan error, 1)
	go func() {
		_, err := OpenGrids(dir)
		done <- err
	}()
	select {
	case err := <-done:
		_, damaged := errors.AsType[*GridError](err)
		expect.That(t, damaged && strings.Contains(err.Error(), "not a regular file"), "got %v", err)
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}

// Every file is refused, or has parts that shift no point to a value that is not finite.
func FuzzDecodeNTv2(f *testing.F) {
	good := goodNTv2(f)
	f.Add(good, 9.0, 50.5)
	f.Add(good[:500], 9.0, 50.5)
	f.Add(change(good, 40, 0xff), 15.5, 47.5)
	big := must.Get(os.ReadFile("testdata/grids/rgf93_ntf.gsb"))(f)
	f.Add(big, 2.0, 48.0)
	f.Fuzz(func(t *testing.T, raw []byte, lon, lat float64) {
		parts, err := decodeNTv2(bytes.NewReader(raw), int64(len(raw)), true)
		if err != nil {
			return
		}
		file := newGridFile("fuzz", false, parts)
		nodes := 0
		for _, p := range parts {
			nodes += p.columns * p.rows
		}
		must.That(t, nodes*ntv2Record <= len(raw), "%d nodes of %d bytes", nodes, len(raw))
		for _, backwards := range []bool{false, true} {
			x, y, ok := file.apply(lon, lat, backwards)
			must.That(t, !ok || finite(x, y), "%v, %v becomes %v, %v", lon, lat, x, y)
		}
	})
}

// Outside of the cone, which the domain hides, the result is right or NaN, and never another place.
func TestKrovak_outside_of_its_cone(t *testing.T) {
	r, _ := findSystem(5514)
	p := newProjection("krovak", datum(4156).ellipsoid(), r)
	if lon, lat := p.inverse(-1, 1e6); !math.IsNaN(lon) || !math.IsNaN(lat) {
		t.Errorf("behind the cone is %v, %v", degrees(lon), degrees(lat))
	}
	lon, lat := p.inverse(-1e6, 1e5)
	expect.That(t, !math.IsNaN(lon+lat), "beside the cone is nothing")
}

func TestObliqueStereographic_at_the_poles(t *testing.T) {
	r, _ := findSystem(28992)
	p := newProjection("stereo", datum(4289).ellipsoid(), r)
	for _, lat := range []float64{math.Pi / 2, -math.Pi / 2} {
		x, y := p.forward(0.3, lat)
		_, back := p.inverse(x, y)
		expect.That(t, finite(x, y) && math.Abs(back-lat) <= 1e-7, "latitude %v is %v, %v, and back %v", lat, x, y, back)
	}
}

// A grid may lie across the antimeridian, with longitudes counted to either side of it.
func TestGridPart_across_the_antimeridian(t *testing.T) {
	values := make([]float32, 2*3*2)
	for i := range 6 {
		values[2*i], values[2*i+1] = 3600, float32(3600*(i%3)) // east to west: 0, 1 and 2 degrees to the west
	}
	for _, box := range []Bounds{{MinX: 179, MinY: 0, MaxX: 181, MaxY: 1}, {MinX: -181, MinY: 0, MaxX: -179, MaxY: 1}} {
		f := newGridFile("test", false, []gridPart{{box: box, stepX: 1, stepY: 1, columns: 3, rows: 2, values: values}})
		for lon, want := range map[float64]float64{179: 177, 179.5: 178, -179: -179, 180: 179, -180: 179, -179.5: 180} {
			x, y, ok := f.apply(lon, 0.5, false)
			expect.That(t, ok && math.Abs(math.Remainder(x-want, 360)) <= 1e-9 && y == 1.5 && x >= -180 && x <= 180, "%v: longitude %v becomes %v, %v, %t; want %v", box, lon, x, y, ok, want)
		}
		_, _, ok := f.apply(178.9, 0.5, false)
		expect.That(t, !ok, "%v: 178.9 is in it", box)
	}
}
