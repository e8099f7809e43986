package simulate

// worst are scenarios whose backlog never drains, or that have as much of something as a scenario may have, at a rate far beyond
// one machine.
func worst() map[string]struct{ pipeline, policy, text string } {
	day := "rate: 1000000\nduration: 24h\ninstances: 500\nproviders:\n"
	return map[string]struct{ pipeline, policy, text string }{
		"down all day":                    {guarded, "", day + "  - {name: place, outages: [{from: 0s, for: 24h}]}"},
		"down all day, without a breaker": {place, "", day + "  - {name: place, outages: [{from: 0s, for: 24h}]}"},
		"limited below the load":          {guarded, "", day + "  - {name: place, rate_limit: {per_second: 500000, retry_after: 5s}}"},
		"half of it fails":                {guarded, "", day + "  - {name: place, errors: {share: 0.5}}"},
		"the breaker opens by number":     {counted, "", day + "  - {name: place, errors: {share: 0.001}}"},
		"too slow":                        {place, "", day + "  - {name: place, latency: 500ms, errors: {share: 0.3}}"},
		"a cache while it is down":        {remembering, "", day + "  - {name: place, cache_hits: 0.5, outages: [{from: 0s, for: 24h}]}"},
		"many waits to remember":          {place, ", strategy: decorrelated_jitter", day + "  - {name: place, latency: 500ms, errors: {share: 0.5}}"},
	}
}
