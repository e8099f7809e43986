// Command postgis compares the sink of package internal/sink with a hand-written loop: binary COPY into a temporary
// table, then INSERT … ON CONFLICT DO UPDATE, with the same batch size and number of connections.
//
// Each writes its own table, with the same columns and indexes. They alternate slice by slice, so that other load on the
// machine affects both. The command needs a PostgreSQL with PostGIS that it may fill. It measures the sink alone,
// without a pipeline.
package main
