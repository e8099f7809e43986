package transform

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestReads_S0_6(t *testing.T) {
	flat := &Flatten{}
	for name, c := range map[string]struct {
		config     Config
		note, tags bool // whether the properties note and tags are read
	}{
		"nothing":                {Config{Unmapped: UnmappedDrop}, false, false},
		"unmapped_kept":          {Config{Unmapped: UnmappedKeep}, true, true},
		"from":                   {Config{Fields: []Field{{To: "x", From: "note"}}}, true, false},
		"the_name_of_the_field":  {Config{Fields: []Field{{To: "note"}}}, true, false},
		"a_longer_name":          {Config{Fields: []Field{{To: "x", From: "notes"}, {To: "y", From: "tags_b"}}}, false, false},
		"a_path":                 {Config{Fields: []Field{{To: "x", From: "tags.a.b"}}}, false, true},
		"a_flattened_name":       {Config{Flatten: flat, Fields: []Field{{To: "x", From: "tags_b"}}}, false, true},
		"expr":                   {Config{Fields: []Field{{To: "x", Expr: `properties.note ?? "none"`}}}, true, false},
		"expr_by_index":          {Config{Fields: []Field{{To: "x", Expr: `properties["tags"] == nil`}}}, false, true},
		"expr_of_all":            {Config{Fields: []Field{{To: "x", Expr: `len(properties)`}}}, true, true},
		"expr_of_another":        {Config{Fields: []Field{{To: "note", Expr: `properties.area`}}}, false, false},
		"target":                 {Config{Fields: []Field{{To: "x", From: "area"}, {To: "note", Expr: `target.x`}}}, false, false},
		"filter":                 {Config{Filter: `properties.note != ""`, Unmapped: UnmappedDrop}, true, false},
		"id_from":                {Config{ID: &IDRule{From: "properties.tags.a"}, Unmapped: UnmappedDrop}, false, true},
		"id_expr":                {Config{ID: &IDRule{Expr: `properties.note`}, Unmapped: UnmappedDrop}, true, false},
		"id_hash_of_all":         {Config{ID: &IDRule{Hash: true}, Unmapped: UnmappedDrop}, true, true},
		"id_from_the_source's":   {Config{ID: &IDRule{Expr: `string(id)`}, Unmapped: UnmappedDrop}, false, false},
		"constants_read_nothing": {Config{Constants: map[string]any{"note": 1}, Unmapped: UnmappedDrop}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.config.Unmapped == "" {
				c.config.Unmapped = UnmappedDrop
			}
			tr := mustNew(t, c.config)
			note, tags := tr.Reads("note"), tr.Reads("tags")
			expect.That(t, note == c.note && tags == c.tags, "note %v, tags %v; want %v, %v", note, tags, c.note, c.tags)
		})
	}
}
