package validity

import (
	"slices"

	"github.com/paulmach/orb"
)

// judgeContact judges a point where several paths meet. A chain may pass it once, and no two may cross there; otherwise
// they touch.
func (s *judge) judgeContact(p orb.Point) *conflict {
	slices.Sort(s.present)
	for i := 1; i < len(s.present); i++ {
		if s.present[i] == s.present[i-1] {
			return &conflict{RingNotSimple, s.present[i], p}
		}
	}
	if a, b, cross := s.interleaved(); cross {
		return s.between(a, b, p)
	}
	s.touch(p)
	return nil
}

// interleaved finds two rings that cross at the point. Each ring has two edges around it. If no rings cross, the edges
// can be removed pair by pair, like brackets.
func (s *judge) interleaved() (a, b int32, cross bool) {
	open := make([]int32, 0, len(s.rising)+len(s.hit))
	take := func(c int32) {
		if last := len(open) - 1; last >= 0 && open[last] == c {
			open = open[:last]
		} else {
			open = append(open, c)
		}
	}
	for _, e := range s.rising { // counterclockwise: the east from south to north, the west back
		take(s.edges[e].chain)
	}
	for _, n := range slices.Backward(s.hit) {
		take(s.edges[s.status.Item(n)].chain)
	}
	if len(open) == 0 {
		return none, none, false
	}
	// Of the remaining rings, the one whose two edges are nearest to each other crosses every ring in between.
	place := make(map[int32]int, len(open)/2)
	nearest, at := len(open), 0
	for i, c := range open {
		if first, seen := place[c]; seen && i-first < nearest {
			nearest, at = i-first, first
		}
		place[c] = i
	}
	return open[at], open[at+1], true
}

// touch records that rings touch at p. Chains of one polygon are adjacent.
func (s *judge) touch(p orb.Point) {
	for begin := 0; begin < len(s.present); {
		end := begin + 1
		for end < len(s.present) && s.chains[s.present[end]].polygon == s.chains[s.present[begin]].polygon {
			end++
		}
		if end-begin > 1 {
			s.graph.touch(s.present[begin:end], p)
		}
		begin = end
	}
}

// begin sets the parent of every ring that the sweep reaches here: it follows from the edge right below the ring's own
// lower edge.
func (s *judge) begin(p orb.Point, below int32) {
	for i, e := range s.rising {
		c := &s.chains[s.edges[e].chain]
		if c.begun || !c.closed {
			continue
		}
		c.begun = true
		// At its westernmost corner the lower edge comes first, and a ring that
		// runs counterclockwise takes it to the east.
		c.counterclockwise = s.edges[e].forward
		if i > 0 {
			below = s.rising[i-1]
		}
		c.parent = s.around(below)
		if rule := s.misplaced(s.edges[e].chain); rule != "" && s.misplacement == nil {
			s.misplacement = &conflict{rule, s.edges[e].chain, p}
		}
	}
}

// around returns the innermost ring around the place right above an edge.
func (s *judge) around(below int32) int32 {
	if below == none {
		return none
	}
	e := &s.edges[below]
	if c := &s.chains[e.chain]; e.forward == c.counterclockwise {
		return e.chain
	}
	return s.chains[e.chain].parent
}

// misplaced returns the rule that a ring breaks by the ring around it, or "": a hole must be in its own exterior, an
// exterior in nothing or in another's hole.
func (s *judge) misplaced(id int32) Rule {
	c := &s.chains[id]
	if c.ring == 0 {
		switch {
		case c.parent == none:
			return ""
		case s.chains[c.parent].polygon == c.polygon: // the polygon's own hole lies around it
			return HoleOutside
		case s.chains[c.parent].ring == 0:
			return PolygonsOverlap
		}
		return ""
	}
	switch {
	case c.parent == none || s.chains[c.parent].polygon != c.polygon:
		return HoleOutside
	case s.chains[c.parent].ring != 0:
		return NestedRings
	}
	return ""
}

// contacts determines whether the interiors of polygons are connected. Rings and the points where they touch form a
// graph; a cycle in it separates a part.
type contacts struct {
	chains  []chain
	parents []int32 // of a union-find over the chains
	touches [][]int32
	circle  *conflict
}

func (g *contacts) init(chains []chain) { *g = contacts{chains: chains} }

// touch records that two or more rings of one polygon touch at p.
func (g *contacts) touch(rings []int32, p orb.Point) {
	if g.circle != nil {
		return
	}
	for i := len(g.parents); i < len(g.chains); i++ {
		g.parents = append(g.parents, int32(i))
	}
	// All of them meet in this one point, which is not a cycle yet.
	for _, ring := range rings[1:] {
		a, b := g.root(rings[0]), g.root(ring)
		if a == b {
			g.circle = &conflict{g.ruleOf(rings), rings[len(rings)-1], p}
			return
		}
		g.parents[a] = b
	}
	g.touches = append(g.touches, slices.Clone(rings))
}

// ruleOf returns the rule that a cycle through these rings breaks: two of them touch twice, or several do so in turn.
func (g *contacts) ruleOf(rings []int32) Rule {
	for _, earlier := range g.touches {
		common := 0
		for _, ring := range rings {
			if _, is := slices.BinarySearch(earlier, ring); is {
				common++
			}
		}
		if common > 1 {
			return RingsTouch
		}
	}
	return InteriorDisconnected
}

func (g *contacts) root(i int32) int32 {
	for g.parents[i] != i {
		g.parents[i] = g.parents[g.parents[i]]
		i = g.parents[i]
	}
	return i
}
