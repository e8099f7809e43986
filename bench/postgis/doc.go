// Command postgis measures the sink of package internal/sink against the loop that one writes by hand: COPY in binary form into a
// temporary table, then INSERT … ON CONFLICT DO UPDATE, in the same batch size on as many connections.
//
// Both write tables of their own, with the same columns and indexes, in one run: slice by slice in turn, so that whatever else
// the machine does meets both. It needs a PostgreSQL with PostGIS that it may fill. It measures the sink alone, and no pipeline.
package main
