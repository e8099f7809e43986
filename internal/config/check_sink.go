package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/envelope"
)

// mostName is how much of a name PostgreSQL keeps; what is longer it cuts without an error.
const mostName = 63

// GuardSuffix makes the name of the guard from that of the table that the sink writes.
const GuardSuffix = "_switchback"

// mostTable leaves room for the ending of the guard's name: cut, it would be the table's own, or another's.
const mostTable = mostName - len(GuardSuffix)

// identifier is a name that SQL takes without quotes; others are refused, so that nobody has to know where to quote.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// qualified is the same with or without a schema.
var qualified = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?$`)

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
	if c.sound(path+".table") && !qualified.MatchString(s.Table) {
		c.fault(path+".table", show(s.Table)+" is not the name of a table", "write name or schema.name, of letters, digits and underscores")
	}
	c.tableName(path+".table", s.Table)
	if limit := c.cfg.Engine.HandlerTimeout; s.Timeout > limit && c.sound(path+".timeout", "engine.handler_timeout") {
		c.fault(path+".timeout", fmt.Sprintf("%s is longer than one record may take (engine.handler_timeout %s)", s.Timeout, limit), "shorten it, or lengthen engine.handler_timeout")
	}
	for key, name := range map[string]string{"key_column": s.KeyColumn, "geometry_column": s.GeometryColumn, "rest_column": s.RestColumn} {
		if at := path + "." + key; c.sound(at) && !identifier.MatchString(name) && (key != "rest_column" || name != "") {
			c.fault(at, show(name)+" is not the name of a column", "write letters, digits and underscores")
		}
	}
	c.distinctColumns(path, s)
	if c.cfg.Source.NullKeys == NullKeysAccept && c.sound("source.null_keys") {
		c.fault("source.null_keys", "a row of sink.postgis is found by the key of its record, so every record needs one", "set it to reject, or remove sink")
	}
}

// sinkKeys are the sink keys: the words, and paths into the record key.
var sinkKeys = regexp.MustCompile(`^(record_key|feature_id|key([.][^. ]+)*)$`)

// sinkKey refuses a key that finds no row, or one row for many features.
func (c checker) sinkKey(table bool) {
	const path = "sink.key"
	key := c.cfg.Sink.Key
	if !c.sound(path) {
		return
	}
	_, into := key.Path()
	switch {
	case !sinkKeys.MatchString(string(key)):
		c.fault(path, show(string(key))+" finds no row", "write record_key, feature_id, or a path into the record key such as key.id")
	case !table && key != SinkKeyRecord:
		c.fault(path, "has no effect without sink.postgis", "add sink.postgis, or remove it")
	case into && c.sound("source") && c.cfg.Source.Split == envelope.SplitFeatures:
		c.fault(path, "all features of a collection would have one row, that of the record key", "set feature_id")
	}
}

// tableName refuses what PostgreSQL would cut.
func (c checker) tableName(path, name string) {
	schema, table, qualified := strings.Cut(name, ".")
	if !qualified {
		schema, table = "", name
	}
	if c.sound(path) && (len(table) > mostTable || len(schema) > mostName) {
		c.fault(path, fmt.Sprintf("%s is too long: PostgreSQL keeps %d characters of a name, and the guard's is that of the table and %s", show(name), mostName, GuardSuffix),
			fmt.Sprintf("choose a name of at most %d characters, in a schema of at most %d", mostTable, mostName))
	}
}

// distinctColumns refuses two uses of one column.
func (c checker) distinctColumns(path string, s *PostGISSink) {
	if !c.sound(path+".key_column", path+".geometry_column", path+".rest_column") {
		return
	}
	uses := map[string]string{s.KeyColumn: "key_column"}
	for _, column := range []struct{ key, name string }{{"geometry_column", s.GeometryColumn}, {"rest_column", s.RestColumn}} {
		if first, taken := uses[column.name]; taken && column.name != "" {
			c.fault(path+"."+column.key, show(column.name)+" is already the "+first, "name another column")
			return
		}
		uses[column.name] = column.key
	}
	for i, kept := range s.KeepColumns {
		at := path + ".keep_columns[" + strconv.Itoa(i) + "]"
		if use := uses[kept]; c.sound(at) && kept != "" && slices.Contains([]string{s.KeyColumn, s.GeometryColumn, s.RestColumn}, kept) {
			c.fault(at, show(kept)+" is the "+use+", which is always written", "remove it")
		}
	}
}
