package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/examples"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func TestEarthquakes_every_published_one_has_an_id_and_a_version(t *testing.T) {
	seen := map[string]bool{}
	for f, err := range examples.Earthquakes() {
		must.Do(t, err)
		var quake struct {
			Type       string
			ID         string
			Properties struct{ Updated int64 }
			Geometry   struct{ Type string }
		}
		err := json.Unmarshal(f.JSON, &quake)
		must.That(t, err == nil, "%s: %v", f.ID, err)
		expect.That(t, quake.Type == "Feature" && quake.ID == f.ID && quake.Properties.Updated != 0 && quake.Geometry.Type == "Point", "%s: not an earthquake as USGS publishes it: %.120s", f.ID, f.JSON)
		seen[f.ID] = true
	}
	expect.That(t, len(seen) == 1707, "%d different earthquakes, want 1707", len(seen))
}

// TestCounties_invalid_ones_are_kept also holds data/README.md to the counts that the data have.
func TestCounties_invalid_ones_are_kept(t *testing.T) {
	states, gates := must.Get(examples.States())(t), must.Get(transform.New(transform.Config{}))(t)
	seen, invalid, short := map[string]bool{}, 0, 0
	for f, err := range examples.Counties() {
		must.Do(t, err)
		var county struct {
			ID         string
			Properties struct{ Name string }
		}
		if err := json.Unmarshal(f.JSON, &county); err != nil {
			t.Fatalf("%s: %v", f.ID, err)
		}
		expect.That(t, county.ID == f.ID && len(f.ID) == 5 && county.Properties.Name != "" && states[f.ID[:2]] != "", "%s: no id, no name or an unknown state", f.ID)
		if _, err := gates.Apply(t.Context(), f.JSON); err != nil {
			invalid++
			if classify.Of(err).Code == classify.CodeGeometryStructure { // a ring needs the four positions of RFC 7946, section 3.1.6
				short++
			}
		}
		seen[f.ID] = true
	}
	expect.That(t, len(seen) == 3231 && invalid == 40 && short == 19, "%d counties, %d invalid, %d with a short ring, want 3231, 40, 19", len(seen), invalid, short)
	readme := must.Get(os.ReadFile("../data/README.md"))(t)
	for _, claim := range []string{"**3,231**", fmt.Sprintf("**%d** are invalid", invalid), fmt.Sprintf("**%d** have a ring of fewer than four positions", short)} {
		expect.That(t, strings.Contains(string(readme), claim), "../data/README.md does not say %q", claim)
	}
}

func ExampleCounties() {
	for f, err := range examples.Counties() {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s %.61s\n", f.ID, f.JSON)
		break
	}
	// Output: 04015 {"type":"Feature","id":"04015","properties":{"name":"Mohave"}
}
