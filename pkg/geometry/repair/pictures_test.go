package repair

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
)

var update = flag.Bool("update", false, "draw the pictures of docs/geometry.md again")

// picture shows a geometry before and after.
type picture struct {
	name, title string
	before      orb.Geometry
	frame       orb.Bound // of the plane
	grid        float64   // distance of the lines of a grid; 0 for none
	meridian    bool      // whether the right side shows the map cut open at ±180
	result      func(t *testing.T, shape orb.Geometry) (*Result, error)
}

func repaired(t *testing.T, shape orb.Geometry) (*Result, error) {
	t.Helper()
	return Repair(t.Context(), shape, nil, wide())
}

func pictures() []picture {
	return []picture{
		{
			"repair", "validity: repair", orb.MultiPolygon{
				{{{1, 1}, {5, 5}, {5, 1}, {1, 5}, {1, 1}}},
				{rings.Box(10, 3, 2.5), {{9, 2}, {10, 4}, {11, 2}, {9, 2}}, {{11, 3}, {11, 4}, {14, 4}, {14, 3}, {11, 3}}},
				{rings.Box(17, 2.5, 1.5)}, {rings.Box(18, 3.5, 1.5)},
			}, orb.Bound{Min: orb.Point{0, 0}, Max: orb.Point{20, 6}}, 0, false, repaired,
		},
		{
			"snap", "output_validity: snap", orb.Polygon{{{0.2, 0.1}, {8.1, 0.2}, {7.8, 6.1}, {4.2, 0.4}, {0.1, 5.8}, {0.2, 0.1}}},
			orb.Bound{Min: orb.Point{-1, -1}, Max: orb.Point{9, 7}}, 1, false,
			func(t *testing.T, shape orb.Geometry) (*Result, error) {
				t.Helper()
				return Snap(t.Context(), shape, nil, 0, wide())
			},
		},
		{
			"cut", "antimeridian: cut", orb.Polygon{
				{{150, -50}, {-140, -40}, {-150, 40}, {160, 50}, {150, -50}}, {{170, -20}, {175, 20}, {-165, 15}, {-170, -15}, {170, -20}},
			}, orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}, 0, true,
			func(t *testing.T, shape orb.Geometry) (*Result, error) {
				t.Helper()
				return Cut(t.Context(), shape, nil, wide())
			},
		},
		{
			"pole", "antimeridian: cut", orb.Polygon{
				{{-150, -60}, {-90, -70}, {-30, -55}, {30, -65}, {90, -60}, {150, -72}, {-150, -60}},
			}, orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}, 0, true,
			func(t *testing.T, shape orb.Geometry) (*Result, error) {
				t.Helper()
				return Cut(t.Context(), shape, nil, wide())
			},
		},
	}
}

// The pictures of docs/geometry.md are what the package does (-update draws them).
func TestPictures_of_the_documentation(t *testing.T) {
	for _, p := range pictures() {
		t.Run(p.name, func(t *testing.T) {
			result, err := p.result(t, p.before)
			if err != nil {
				t.Fatal(err)
			}
			mustBeValid(t, result.Shape)
			drawn := p.draw(result.Shape)
			file := filepath.Join("..", "..", "..", "docs", "pictures", p.name+".svg")
			if *update {
				if err := os.WriteFile(file, drawn, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, drawn) {
				t.Errorf("%s is not what the package draws (%v): run go test ./pkg/geometry/repair -update", file, err)
			}
		})
	}
}

// wideAs is the width of one side of a picture in pixels.
const wideAs = 340.0

func (p *picture) draw(after orb.Geometry) []byte {
	scale := wideAs / (p.frame.Max[0] - p.frame.Min[0])
	height := scale * (p.frame.Max[1] - p.frame.Min[1])
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="13" role="img">`+"\n", 2*wideAs+40, height+40)
	fmt.Fprintf(&b, "<title>%s, before and after</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", p.title)
	for i, shape := range []orb.Geometry{p.before, after} {
		label := [...]string{"before", "after " + p.title}[i]
		left := 10 + float64(i)*(wideAs+20)
		fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"18\">%s</text>\n<g transform=\"translate(%.0f 28)\">\n", left, label, left)
		fmt.Fprintf(&b, "<rect width=\"%.0f\" height=\"%.1f\" fill=\"#f4f6f8\" stroke=\"#8894a0\"/>\n", wideAs, height)
		at := func(q orb.Point) (float64, float64) {
			return (q[0] - p.frame.Min[0]) * scale, (p.frame.Max[1] - q[1]) * scale
		}
		p.lines(&b, scale, height)
		path(&b, shape, i == 0 && p.meridian, at)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// lines draws the grid.
func (p *picture) lines(b *bytes.Buffer, scale, height float64) {
	if p.grid == 0 {
		return
	}
	for x := p.frame.Min[0] + p.grid; x < p.frame.Max[0]; x += p.grid {
		fmt.Fprintf(b, "<path d=\"M%.1f 0V%.1f\" stroke=\"#d5dbe1\"/>\n", (x-p.frame.Min[0])*scale, height)
	}
	for y := p.frame.Min[1] + p.grid; y < p.frame.Max[1]; y += p.grid {
		fmt.Fprintf(b, "<path d=\"M0 %.1fH%.0f\" stroke=\"#d5dbe1\"/>\n", (p.frame.Max[1]-y)*scale, wideAs)
	}
}

// path draws polygons by the even-odd rule, and a dot at each position.
func path(b *bytes.Buffer, shape orb.Geometry, asNumbers bool, at func(orb.Point) (float64, float64)) {
	polygons, several := shape.(orb.MultiPolygon)
	if !several {
		polygons = orb.MultiPolygon{shape.(orb.Polygon)}
	}
	color := "#2a6f97"
	if asNumbers { // the plane of the numbers is not what is meant
		color = "#b5541c"
	}
	for _, polygon := range polygons {
		var d, dots strings.Builder
		for _, ring := range polygon {
			for i, q := range ring {
				x, y := at(q)
				switch {
				case i == len(ring)-1:
					d.WriteString("Z")
					continue
				case i == 0:
					fmt.Fprintf(&d, "M%.1f %.1f", x, y)
				default:
					fmt.Fprintf(&d, "L%.1f %.1f", x, y)
				}
				fmt.Fprintf(&dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"%s\"/>", x, y, color)
			}
		}
		fmt.Fprintf(b, "<path d=\"%s\" fill=\"%s\" fill-opacity=\"0.35\" fill-rule=\"evenodd\" stroke=\"%s\" stroke-width=\"1.5\"/>\n%s\n", d.String(), color, color, dots.String())
	}
}
