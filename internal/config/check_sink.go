package config

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/envelope"
)

// mostName is how much of a name PostgreSQL keeps; what is longer it cuts without an error.
const mostName = 63

// GuardSuffix makes the name of the guard from that of the table that the sink writes.
const GuardSuffix = "_switchback"

// mostTable leaves room for the ending of the guard's name: cut, it would be the table's own, or another's.
const mostTable = mostName - len(GuardSuffix)

// sink checks the table beside the output topic.
func (c checker) sink() {
	const path = "sink.postgis"
	s := c.cfg.Sink.PostGIS
	c.sinkKey(s != nil)
	if s == nil {
		return
	}
	c.dsn(path, s.DSNEnv, s.DSNFile)
	c.breaker(path, &s.Breaker, s.Timeout, s.MaxConnections)
	c.within(path+".timeout", s.Timeout)
	schema, table, qualified := strings.Cut(s.Table, ".")
	if !qualified {
		schema, table = "", s.Table
	}
	if c.sound(path+".table") && (len(table) > mostTable || len(schema) > mostName) {
		c.fault(path+".table", fmt.Sprintf("%s is too long: PostgreSQL keeps %d characters of a name, and the guard's is that of the table and %s", show(s.Table), mostName, GuardSuffix),
			fmt.Sprintf("choose a name of at most %d characters, in a schema of at most %d", mostTable, mostName))
	}
	c.columns(path, s)
	if c.cfg.Source.NullKeys == NullKeysAccept && c.sound("source.null_keys") {
		c.fault("source.null_keys", "a row of sink.postgis is found by the key of its record, so every record needs one", "set it to reject, or remove sink")
	}
}

// sinkKey refuses a key that finds no row, or one row for many features.
func (c checker) sinkKey(table bool) {
	const path = "sink.key"
	_, into := c.cfg.Sink.Key.Path()
	switch {
	case !c.sound(path):
	case !table && c.cfg.Sink.Key != SinkKeyRecord:
		c.fault(path, "has no effect without sink.postgis", "add sink.postgis, or remove it")
	case into && c.sound("source") && c.cfg.Source.Split == envelope.SplitFeatures:
		c.fault(path, "all features of a collection would have one row, that of the record key", "set feature_id")
	}
}

// columns refuses two uses of one column.
func (c checker) columns(path string, s *PostGISSink) {
	if !c.sound(path+".key_column", path+".geometry_column", path+".rest_column") {
		return
	}
	uses := map[string]string{s.KeyColumn: "key_column"}
	for _, column := range [][2]string{{"geometry_column", s.GeometryColumn}, {"rest_column", s.RestColumn}} {
		if first := uses[column[1]]; first != "" {
			c.fault(path+"."+column[0], show(column[1])+" is already the "+first, "name another column")
			return
		}
		if column[1] != "" {
			uses[column[1]] = column[0]
		}
	}
	for i, kept := range s.KeepColumns {
		if at := entry(path+".keep_columns", i); uses[kept] != "" && c.sound(at) {
			c.fault(at, show(kept)+" is the "+uses[kept]+", which is always written", "remove it")
		}
	}
}
