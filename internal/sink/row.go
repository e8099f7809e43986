package sink

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Row is the new state of a key after an event, or its deletion.
type Row struct {
	// Key is the key of the output record, which orders the row's events. If sink.key is not the record key, it is in
	// the form of [GuardKey].
	Key []byte
	// RowKey finds the row if sink.key is not the record key. Nil for a delete: the guard has the row of the key.
	RowKey []byte
	// Version is the version with which the event takes effect (see [retrytopics.Record.Version]).
	Version header.Version
	// Feature is the new state; nil if the event deletes the key.
	Feature *transform.Feature
	// Bytes is the approximate size of the feature.
	Bytes int
	// ContentHash and Source identify the event in the guard: "sha256:<hex>", topic/partition/offset.
	ContentHash string
	Source      string

	ewkb   []byte   // of the geometry; nil for none
	passed *reading // the reading that accepted it
}

func (r *Row) deletes() bool { return r.Feature == nil }

// rowKey returns the value of the key column.
func (t *table) rowKey(r *Row) []byte {
	if t.claims {
		return r.RowKey
	}
	return r.Key
}

// outdated reports whether another row of the key is newer, by the guard's order.
func (r *Row) outdated(other *Row) bool {
	if r.deletes() || other.deletes() {
		return r.Version.Offset < other.Version.Offset
	}
	return r.Version.Less(other.Version)
}

// lackError names the column that a table lacks for a row that the mapping allows. The row waits until the table has
// it.
type lackError struct {
	error
	column string
}

func (e *lackError) Unwrap() error { return e.error }

func (t *table) lack(column, fault string) error {
	return &lackError{classify.WithCode(classify.CodeDBSchema, classify.StageSink,
		fmt.Errorf("sink.postgis: table %s does not fit: column %q %s; the consumer prints the statement that fixes it when it starts", t.name, column, fault)), column}
}

// checkAll refuses the first row that does not fit the table. A row that has passed is not checked again.
func (r *reading) checkAll(rows []*Row) error {
	for _, row := range rows {
		if row.passed == r {
			continue
		}
		if err := r.check(row); err != nil {
			return err
		}
		row.passed = r
	}
	return nil
}

// check refuses a row that does not fit the table: with a *lackError if the configuration allows the value, because
// the table is then the cause, otherwise as a failure of the row.
func (t *table) check(r *Row) error {
	if err := CheckRecordKey(r.Key, t.name); err != nil {
		return err
	}
	if r.Feature == nil {
		return nil
	}
	if err := CheckRowKey(t.rowKey(r), string(t.rule), t.name, string(r.Key)); err != nil {
		return err
	}
	if err := t.checkKey(t.rowKey(r)); err != nil {
		return err
	}
	if fault := t.keeps(r.Feature.Geometry); fault != "" {
		return t.lack(t.geometry, fault)
	}
	for _, p := range r.Feature.Properties {
		if fault, unfit := t.unfit[p.Name]; unfit && !p.Value.IsNull() {
			return t.lack(p.Name, fault)
		}
		if i, known := t.index[p.Name]; known {
			c := t.columns[i]
			if err := cmp.Or(t.checkMembers(c, p.Value, r.Key), t.checkClock(c, p.Value, r.Key), t.checkBytes(c, p.Value, r.Key)); err != nil {
				return err
			}
		}
		if _, named := t.expected.properties[p.Name]; named || t.rest != "" || t.has(p.Name) || p.Name == t.key && p.Value.Text() == string(t.rowKey(r)) {
			continue
		}
		return &transform.Error{
			Code: classify.CodeDBSchema, Stage: classify.StageSink, Path: "/properties" + pointer(p.Name), Feature: string(r.Key), Rule: "sink.postgis.table",
			Message: fmt.Sprintf("%s has no column %q", t.name, p.Name),
			Fix:     "add the column, map the property to another name or drop it, or name a column of type jsonb in sink.postgis.rest_column",
		}
	}
	return nil
}

// checkMembers refuses an object with a member that the composite type of its column does not have.
func (t *table) checkMembers(c column, v transform.Value, key []byte) error {
	below := c.values.unknownMember(v)
	if below == "" {
		return nil
	}
	refused := t.refused(c, key, "the type has no such attribute", "add the attribute to the type, or leave the member out")
	refused.Code, refused.Path = classify.CodeDBSchema, refused.Path+below
	return refused
}

// refused returns the error of a value that a column cannot store.
func (t *table) refused(c column, key []byte, fault, fix string) *transform.Error {
	return &transform.Error{
		Code: classify.CodeDBData, Stage: classify.StageSink, Path: "/properties" + pointer(c.Name), Feature: string(key), Rule: "sink.postgis.table",
		Message: fmt.Sprintf("column %q of %s, of type %s: %s", c.Name, t.name, c.Declared, fault), Fix: fix,
	}
}

func (t *table) has(name string) bool {
	_, known := t.index[name]
	return known
}

// pointer escapes a name for a JSON pointer (RFC 6901).
func pointer(name string) string { return string(jsontext.Pointer("").AppendToken(name)) }

// newest keeps the newest row of each key, and the last of equal ones, in the order of keys. One statement can change
// a row once, and statements that change the same rows in one order cannot deadlock. The dropped rows would have been
// overwritten.
func newest(rows []*Row) []*Row {
	byKey := map[string]*Row{}
	for _, r := range rows {
		if other, taken := byKey[string(r.Key)]; !taken || !r.outdated(other) {
			byKey[string(r.Key)] = r
		}
	}
	out := make([]*Row, 0, len(byKey))
	for _, r := range byKey {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Row) int { return slices.Compare(a.Key, b.Key) })
	return out
}

// FindsRow reports whether a key can find a row of the table: PostgreSQL's texts are UTF-8 and have no zero byte.
func FindsRow(key []byte) bool { return len(key) > 0 && utf8.Valid(key) && !slices.Contains(key, 0) }

// CheckRecordKey refuses a record key that cannot find a row of a table.
func CheckRecordKey(key []byte, table string) error {
	if FindsRow(key) {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeInvalidUTF8, Stage: classify.StageSink, Message: fmt.Sprintf("the key %q of the output is not a text and matches no row of %s", key, table),
		Rule: "sink.postgis.key_column", Fix: "send the feature's id as the key",
	}
}

// CheckRowKey refuses a row key that cannot find a row of a table. The rule (sink.key) derived it from the record with
// this key.
func CheckRowKey(row []byte, rule, table, key string) error {
	if FindsRow(row) {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeMissingRequired, Stage: classify.StageSink, Message: fmt.Sprintf("%s is %q, which matches no row of %s", rule, row, table),
		Rule: "sink.key", Feature: key, Fix: "send an id, create one with transform.id, or set another sink.key",
	}
}

// uneven returns an error for a geometry of which only some positions have a height. PostGIS cannot represent it: it
// would store NaN, which ST_AsGeoJSON turns into invalid JSON, and 0 is a height that no producer sent.
func uneven(key []byte, g transform.Geometry) error {
	lacks := slices.IndexFunc(g.Z, math.IsNaN)
	if lacks < 0 {
		return nil
	}
	return &transform.Error{
		Code: classify.CodeGeometryDimension, Stage: classify.StageSink, Path: "/geometry", Rule: string(transform.RuleDimension), Feature: string(key),
		Message: fmt.Sprintf("position %d has no height but others have one, which PostGIS cannot store", lacks+1),
		Fix:     "send a height in each position or in none, or set geometry.dimension: drop_z",
	}
}

// warnEvery is the time between two log lines about a column that keeps records waiting.
const warnEvery = time.Minute

// lacks logs the columns that a table lacks for waiting records, once per warnEvery and column.
type lacks struct {
	log *slog.Logger

	mu     sync.Mutex
	warned map[string]time.Time
}

func (l *lacks) warn(e *lackError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.warned[e.column]) < warnEvery {
		return
	}
	if l.warned == nil {
		l.warned = map[string]time.Time{}
	}
	l.warned[e.column] = time.Now()
	l.log.Warn("records are deferred until the table fits; they use no attempts", "column", e.column, "error", e)
}
