package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// nameWarnings finds names in the URLs of remote steps that the mapped feature cannot have: the name of the source where that of the
// target is meant. Every feature would die of it. Without fields, or with what is unmapped kept, the file does not tell what there is.
func nameWarnings(cfg *Config, warn func(path, message, fix string)) {
	t := cfg.Transform
	if len(t.Fields) == 0 || t.Unmapped != transform.UnmappedDrop {
		return
	}
	known, target := map[string]bool{t.Geometry.FlagProperty: true}, map[string]string{}
	for _, f := range t.Fields {
		known[f.To] = true
		target[f.From] = f.To
	}
	for name := range maps.Keys(t.Constants) {
		known[name] = true
	}
	for i, step := range cfg.Enrich {
		for path, url := range urlsOf(i, step) {
			parts, _ := template.Parse(url)
			for _, part := range parts {
				property, isProperty := strings.CutPrefix(part.Name, "properties.")
				if isProperty && !given(known, property) {
					warn(path, show("{"+part.Name+"}")+" is given by no field, no constant and no earlier step, so every feature fails here (missing_required)", meant(target, known, property))
				}
			}
		}
		for name := range step.Set {
			known[name] = true
		}
		known[step.SetProvider] = true
	}
}

// urlsOf gives the URLs that a step asks, by their keys in the file.
func urlsOf(i int, step EnrichStep) map[string]string {
	path, urls := "enrich["+strconv.Itoa(i)+"]", map[string]string{}
	if step.HTTP != nil {
		urls[path+".http.url"] = step.HTTP.URL
	}
	for j, p := range step.Providers {
		if p.HTTP != nil {
			urls[path+".providers["+strconv.Itoa(j)+"].http.url"] = p.HTTP.URL
		}
	}
	return urls
}

// given says whether a property may be there: itself, something that it is part of, or, when it was flattened, something that it begins with.
func given(known map[string]bool, property string) bool {
	for name := range known {
		if name != "" && (strings.HasPrefix(property+".", name+".") || strings.HasPrefix(name, property+".") || strings.HasPrefix(property, name)) {
			return true
		}
	}
	return false
}

func meant(target map[string]string, known map[string]bool, property string) string {
	if to := target[property]; to != "" {
		return "a step sees the mapped feature: write {properties." + to + "}"
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool { return n == "" })
	return "a step sees the mapped feature, which has " + strings.Join(names[:min(len(names), 8)], ", ") + "; add a field, or fix the name"
}
