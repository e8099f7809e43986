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
