package main

import "github.com/switchback-geo/switchback/internal/cli"

// groups returns the commands by purpose.
func groups() []cli.CommandGroup {
	return []cli.CommandGroup{
		{Title: "Run", Commands: []string{"demo", "run", "pause", "resume"}},
		{Title: "See", Commands: []string{"status", "health", "verify", "describe", "governance"}},
		{Title: "Set up", Commands: []string{"init", "validate", "transform", "simulate", "schema", "topics", "sink", "version"}},
	}
}

// examples returns the examples of each command, by its path.
func examples() map[string]string {
	return map[string]string{
		"demo":              "consumer demo\nconsumer demo --exit",
		"run":               "consumer run -c pipeline.yaml\nconsumer run -c pipeline.yaml --until-end --summary -",
		"pause":             "consumer pause -c pipeline.yaml --reason \"the registry is being moved\"",
		"resume":            "consumer resume -c pipeline.yaml --reason \"the registry is back\"\nconsumer resume -c pipeline.yaml --for 10m --reason \"the backlog has many bad records, all known\"\nconsumer resume -c pipeline.yaml --batch 2026-11-03 --reason \"the owner names are right\"",
		"status":            "consumer status -c pipeline.yaml\nconsumer status -c pipeline.yaml --watch\nconsumer status -c pipeline.yaml -o json | jq .state",
		"health":            "consumer health -c pipeline.yaml",
		"verify records":    "consumer verify records -c pipeline.yaml\nconsumer verify records -c pipeline.yaml --partition 3 --from 1000000",
		"verify table":      "consumer verify table -c pipeline.yaml\nconsumer verify table -c pipeline.yaml --repair",
		"verify audit":      "consumer verify audit -c pipeline.yaml\nconsumer verify audit -c pipeline.yaml -o json > audit.json\nconsumer verify audit -c pipeline.yaml --since audit.json",
		"describe":          "consumer describe -c pipeline.yaml --live",
		"governance export": "consumer governance export -c pipeline.yaml > ledger.json",
		"init":              "consumer init parcels.geojson --out pipeline.yaml\nconsumer init - --id parcels < parcels.ndjson > pipeline.yaml",
		"validate":          "consumer validate -c pipeline.yaml\nconsumer validate -c pipeline.yaml --strict\nconsumer validate -c pipeline.yaml --explain-errors",
		"transform":         "consumer transform -c pipeline.yaml < in.ndjson > out.ndjson\nconsumer transform -c pipeline.yaml --rejects bad.ndjson --meta < in.ndjson",
		"simulate":          "consumer simulate -c pipeline.yaml\nconsumer simulate -c pipeline.yaml --rate 200 --hours 2 --instances 4\nconsumer simulate -c pipeline.yaml --scenario outage.yaml --expect",
		"schema":            "consumer schema > pipeline.schema.json",
		"topics ensure":     "consumer topics ensure -c pipeline.yaml",
		"topics check":      "consumer topics check -c pipeline.yaml",
		"topics adopt":      "consumer topics adopt -c pipeline.yaml\nconsumer topics adopt -c pipeline.yaml --execute",
		"topics acls":       "consumer topics acls -c pipeline.yaml --principal User:parcels",
		"sink ddl":          "consumer sink ddl -c pipeline.yaml | psql parcels",
		"sink ensure":       "consumer sink ensure -c pipeline.yaml --execute",
		"sink rekey":        "consumer sink rekey -c pipeline.yaml --execute",
		"version":           "consumer version\nconsumer version -o json",
	}
}
