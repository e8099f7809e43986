package config

import (
	"slices"
	"strings"
)

// Redacted returns a copy to show to people. A [Config] holds no secret that the rules know of;
// what looks like one in the query of a URL is masked, as [Warnings] warns of it.
func (c Config) Redacted() *Config {
	out := c
	out.Enrich = slices.Clone(c.Enrich)
	for i := range out.Enrich {
		step := &out.Enrich[i]
		step.HTTP = step.HTTP.redacted()
		step.Providers = slices.Clone(step.Providers)
		for j := range step.Providers {
			step.Providers[j].HTTP = step.Providers[j].HTTP.redacted()
		}
	}
	return &out
}

// redacted gives a copy to show; nil stays nil.
func (h *HTTPLookup) redacted() *HTTPLookup {
	if h == nil {
		return nil
	}
	out := *h
	out.URL = maskParameters(h.URL)
	return &out
}

func maskParameters(template string) string {
	address, query, found := strings.Cut(template, "?")
	if !found {
		return template
	}
	parameters := strings.Split(query, "&")
	for i, parameter := range parameters {
		if secretParameter("?"+parameter) != "" {
			key, _, _ := strings.Cut(parameter, "=")
			parameters[i] = key + "=" + redacted
		}
	}
	return address + "?" + strings.Join(parameters, "&")
}
