package config

import (
	"fmt"
	"os"
)

// Replayer says how the replayer works for this pipeline.
type Replayer struct {
	// Index says where dead letters are kept in SQL, for list, groups, stats and your own queries.
	Index ReplayerIndex `yaml:"index"`
}

// ReplayerIndex says where dead letters are kept in SQL: in a file, or in PostgreSQL. What is there can be made anew from Kafka at any time.
type ReplayerIndex struct {
	// File is an SQLite file; it is made when it is missing. Defaults to one for each DLQ in the user's cache folder.
	File string `yaml:"file"`
	// DSNEnv names the environment variable that holds the address of a PostgreSQL database, as postgres://user:password@host:5432/name; give this or file. Defaults to none.
	DSNEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env"`
}

// Place gives where the index is: a file, the address of a database, or "" for the default. The
// error names the variable that is empty.
func (i ReplayerIndex) Place() (Secret, error) {
	if i.DSNEnv == "" {
		return NewSecret(i.File), nil
	}
	dsn := os.Getenv(i.DSNEnv)
	if dsn == "" {
		return Secret{}, fmt.Errorf("replayer.index.dsn_env names the variable %s, which is empty or not set", i.DSNEnv)
	}
	return NewSecret(dsn), nil
}

// replayer refuses two places for one index.
func (c checker) replayer() {
	const path = "replayer.index.file"
	if i := c.cfg.Replayer.Index; i.File != "" && i.DSNEnv != "" && c.sound(path, "replayer.index.dsn_env") {
		c.fault(path, "the index has two places: file and dsn_env", "leave one of them out")
	}
}
