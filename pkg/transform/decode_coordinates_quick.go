package transform

import (
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// scanFast reads the coordinates member like [decoder.scan], but directly from the bytes. It only succeeds if there is
// no fault: arrays of positions of two or three short numbers, evenly nested, within every limit. Otherwise it returns
// false and has no effect; scan then reports the fault and its place.
func (d *decoder) scanFast() bool {
	if d.decoder.StackDepth()+maxLevels > d.limits.MaxDepth || min(d.limits.MaxNumberBytes, d.limits.MaxLiteralBytes) < numbers.ShortBytes {
		return false
	}
	s := coordinateScan{decoder: d, cursor: cursor{src: d.src, at: int(d.offset())}}
	s.take(':') // between the name and the value
	positions, rings := d.total, d.rings
	if d.z = d.z[:min(len(d.z), positions)]; s.array(1) && s.decoder.skipValue(s.at) {
		return true
	}
	d.next()
	d.z, d.total, d.rings = d.z[:min(len(d.z), positions)], positions, rings
	return false
}

// skipValue moves the tokens to the position up to which the bytes were read. The library checks the value meanwhile.
func (d *decoder) skipValue(end int) bool {
	_, err := d.decoder.ReadValue()
	return err == nil && int(d.offset()) == end
}

// coordinateScan reads the coordinates of a geometry.
type coordinateScan struct {
	*decoder
	cursor
}

// array reads an array at a level of nesting.
func (s *coordinateScan) array(level int) bool {
	if !s.take('[') {
		return false
	}
	start := int64(s.at - 1)
	if c := s.next(); c == '-' || c-'0' <= 9 {
		return s.position(level, start)
	}
	if s.rings++; s.rings > s.limits.MaxRings || level == maxLevels || s.deep == level {
		return false
	}
	for {
		if !s.array(level + 1) {
			return false
		}
		if s.take(']') {
			break
		}
		if !s.take(',') {
			return false
		}
	}
	l := &s.levels[level]
	l.count++
	l.ends = append(l.ends, arrayEnd{start: start, children: s.levels[level+1].count})
	return true
}

// position reads a position after its '[' at start.
func (s *coordinateScan) position(level int, start int64) bool {
	if s.deep == 0 {
		s.deep, s.first = level, start
	}
	if s.total++; s.deep != level || s.total > s.limits.MaxPositions {
		return false
	}
	var ordinates [3]float64
	n := 0
	for {
		s.next()
		f, rest, ok := numbers.ScanShort(s.src[s.at:])
		if !ok || n == len(ordinates) {
			return false
		}
		ordinates[n] = f
		n++
		s.at = len(s.src) - len(rest)
		if s.take(']') {
			break
		}
		if !s.take(',') {
			return false
		}
	}
	if n < 2 {
		return false
	}
	s.points = append(s.points, orb.Point{ordinates[0], ordinates[1]})
	s.height(n, ordinates[2])
	s.levels[level].count++
	return true
}
