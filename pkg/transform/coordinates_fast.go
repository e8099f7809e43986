package transform

import "github.com/paulmach/orb"

// scanFast reads the coordinates member like [decoder.scan], but directly from the bytes. It only succeeds if there is
// no fault: arrays of positions of two or three short numbers, evenly nested, within every limit. Otherwise it returns
// false and has no effect; scan then reports the fault and its place.
func (d *decoder) scanFast() bool {
	if d.decoder.StackDepth()+maxLevels > d.limits.MaxDepth || min(d.limits.MaxNumberBytes, d.limits.MaxLiteralBytes) < shortBytes {
		return false
	}
	s := fastScan{decoder: d, text: d.src, at: int(d.offset())}
	s.colon()
	positions, rings := d.total, d.rings
	if d.z = d.z[:min(len(d.z), positions)]; s.array(1) && s.decoder.skipValue(s.at) {
		return true
	}
	d.next()
	d.z, d.total, d.rings = d.z[:min(len(d.z), positions)], positions, rings
	return false
}

// skipValue advances the tokens to the place up to which the bytes were read. The library checks the value meanwhile.
func (d *decoder) skipValue(end int) bool {
	_, err := d.decoder.ReadValue()
	return err == nil && int(d.offset()) == end
}

// fastScan is a position in the text.
type fastScan struct {
	*decoder
	text []byte
	at   int
}

// peekByte returns the next byte that is not white space; 0 at the end.
func (s *fastScan) peekByte() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// colon skips the colon between a name and its value.
func (s *fastScan) colon() {
	if s.peekByte() == ':' {
		s.at++
	}
}

// take skips one byte if it is the next one.
func (s *fastScan) take(c byte) bool {
	if s.peekByte() != c {
		return false
	}
	s.at++
	return true
}

// array reads an array at a level of nesting.
func (s *fastScan) array(level int) bool {
	start := s.at
	if !s.take('[') {
		return false
	}
	if c := s.peekByte(); c == '-' || c-'0' <= 9 {
		return s.position(level, start)
	}
	start = s.at - 1
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
		s.peekByte()
	}
	l := &s.levels[level]
	l.count++
	l.ends = append(l.ends, arrayEnd{start: int64(start), children: s.levels[level+1].count})
	return true
}

// position reads a position after its '[' at start.
func (s *fastScan) position(level, start int) bool {
	if s.deep == 0 {
		for s.text[start] != '[' {
			start++
		}
		s.deep, s.first = level, int64(start)
	}
	if s.total++; s.deep != level || s.total > s.limits.MaxPositions {
		return false
	}
	var ordinates [3]float64
	n := 0
	for {
		s.peekByte()
		f, rest, ok := scanShort(s.text[s.at:])
		if !ok || n == len(ordinates) {
			return false
		}
		ordinates[n] = f
		n++
		s.at = len(s.text) - len(rest)
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
