package deadletters

import "testing"

func TestParseBBox(t *testing.T) {
	for in, want := range map[string]BBox{
		"9.4,47,9.7,47.3":       {9.4, 47, 9.7, 47.3},
		" 1 , 2 ,3, 4":          {1, 2, 3, 4},
		"179,-20,-179,-10":      {179, -20, -179, -10},
		"5e5,5.2e6,5.1e5,5.3e6": {500000, 5200000, 510000, 5300000},
	} {
		got, err := ParseBBox(in)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
		if again, err := ParseBBox(got.String()); err != nil || again != got {
			t.Errorf("%q: %q comes back as %v, %v", in, got.String(), again, err)
		}
	}
	for _, in := range []string{"", "1,2,3", "1,2,3,4,5", "a,2,3,4", "NaN,2,3,4", "1,4,3,2", "1,2,Inf,4"} {
		if got, err := ParseBBox(in); err == nil {
			t.Errorf("%q: accepted as %v", in, got)
		}
	}
}

func TestBBox_meets_over_the_antimeridian_too(t *testing.T) {
	fiji := BBox{177, -20, -178, -16}
	for _, c := range []struct {
		name string
		a, b BBox
		want bool
	}{
		{"inside", BBox{0, 0, 10, 10}, BBox{2, 2, 3, 3}, true},
		{"touching edge", BBox{0, 0, 10, 10}, BBox{10, 10, 11, 11}, true},
		{"beside", BBox{0, 0, 10, 10}, BBox{11, 0, 12, 10}, false},
		{"above", BBox{0, 0, 10, 10}, BBox{0, 11, 10, 12}, false},
		{"crossing, west of the line", fiji, BBox{178, -18, 179, -17}, true},
		{"crossing, east of the line", fiji, BBox{-179, -18, -178.5, -17}, true},
		{"crossing, far away", fiji, BBox{9, -18, 10, -17}, false},
		{"both crossing", fiji, BBox{179, -17, -170, -10}, true},
		{"both crossing, other latitude", fiji, BBox{179, 10, -170, 20}, false},
	} {
		if c.a.Meets(c.b) != c.want || c.b.Meets(c.a) != c.want {
			t.Errorf("%s: %v and %v: %v %v, want %v", c.name, c.a, c.b, c.a.Meets(c.b), c.b.Meets(c.a), c.want)
		}
	}
}
