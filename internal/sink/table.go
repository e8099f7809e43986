package sink

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// table is the configured table with its columns.
type table struct {
	name     string // as configured
	quoted   string
	guard    string // quoted
	key      string
	geometry string
	rest     string   // "" for none
	kept     []string // columns of others
	binary   config.BinaryText
	srid     int  // of the mapping's output
	claims   bool // rows are found by another value than the record key, and the guard has their keys
	rule     config.SinkKey
	expected expected

	columns   []column          // for properties
	forms     []form            // how their texts are written
	index     map[string]int    // their indexes, by name
	unfit     map[string]string // properties that the configuration names, and why the table cannot store them
	keyColumn column
	keyType   string
	cast      string // of the geometry: geometry or geography
	place     place
}

func newTable(cfg *config.Config) (*table, error) {
	c, key := cfg.Sink.PostGIS, cfg.Sink.Key
	srid, err := sridOf(cfg.Transform.Geometry.TargetCRS)
	if err != nil {
		return nil, err
	}
	name := strings.Split(c.Table, ".")
	last := len(name) - 1
	guard := append(slices.Clone(name[:last]), name[last]+config.GuardSuffix)
	return &table{
		name: c.Table, quoted: pgx.Identifier(name).Sanitize(), guard: pgx.Identifier(guard).Sanitize(),
		key: c.KeyColumn, geometry: c.GeometryColumn, rest: c.RestColumn, kept: c.KeepColumns, binary: c.Binary, srid: srid, cast: "geometry",
		claims: key != config.SinkKeyRecord, rule: key, expected: expect(cfg.Transform, cfg.Enrich),
	}, nil
}

func (t *table) guardName() string { return t.name + config.GuardSuffix }

// sridOf returns the EPSG code of a coordinate reference system, which PostGIS calls SRID. CRS84 has the coordinates of
// EPSG:4326 in the order in which PostGIS keeps them.
func sridOf(name string) (int, error) {
	if name == "" {
		return 4326, nil
	}
	system, err := crs.Lookup(name)
	if err != nil {
		return 0, err
	}
	srid := 4326
	if _, err := fmt.Sscanf(system.Code(), "EPSG:%d", &srid); err != nil && !strings.HasSuffix(system.Code(), "CRS84") {
		return 0, fmt.Errorf("transform.geometry.target_crs: %s has no SRID", system.Code())
	}
	return srid, nil
}

// place describes the geometries that a column accepts, by its type or its constraints.
type place struct {
	SRID int    // 0 for any
	Dims int    // 0 for any
	Kind string // of the geometries, as PostGIS writes it: PointZ, POINT; "" or Geometry for any

	constrained bool // a constraint sets the SRID, not the type
}

// enforced matches a constraint that PostGIS's AddGeometryColumn creates, as PostgreSQL shows it.
var enforced = regexp.MustCompile(`^CHECK \(\((?:\(*)(?:\w+\.)?(st_srid|st_ndims|geometrytype)\((?:"[^"]+"|\w+)\) = (?:'(\w+)'::text|(\d+))\)?(?: OR \((?:"[^"]+"|\w+) IS NULL\))?\)\)$`)

// constrain applies a constraint. A constraint of another form is ignored; the database refuses violations row by row.
func (p *place) constrain(check string) {
	found := enforced.FindStringSubmatch(check)
	if found == nil {
		return
	}
	number, _ := strconv.Atoi(found[3]) // digits, or nothing
	switch {
	case found[1] == "st_srid" && p.SRID == 0: // otherwise the type sets it already
		p.SRID, p.constrained = number, true
	case found[1] == "st_ndims" && p.Dims == 0:
		p.Dims = number
	case found[1] == "geometrytype" && p.Kind == "":
		p.Kind = found[2]
	}
}

// flat reports whether the column accepts no heights, tall whether it requires them.
func (p place) flat() bool { return p.Dims == 2 }

func (p place) tall() bool { return p.Dims >= 3 && !p.measured() }

// measured reports whether it requires measures, which no feature has.
func (p place) measured() bool { return p.Dims == 4 || strings.HasSuffix(strings.ToUpper(p.Kind), "M") }

// takes reports whether it accepts geometries of a type.
func (p place) takes(kind transform.GeometryType) bool {
	name := strings.TrimRight(strings.ToUpper(p.Kind), "ZM")
	return slices.Contains([]string{"", "GEOMETRY", strings.ToUpper(string(kind))}, name)
}

// reading is the database's description of a table, and the statements for it.
type reading struct {
	table
	upsert, removal string
	raise, older    string // for repeats
	stage           stage
	notes           []Mismatch // with which rows can be written
	at              time.Time
}

// The age up to which a reading is used: for writing, so that every instance soon uses a new column, and for refusing a
// row.
const (
	refreshAge = 15 * time.Second
	freshAge   = time.Second
)

// known returns the database's description of the table, at most so old. The error is a *TableError if nothing can be
// written.
func (s *Sink) known(ctx context.Context, age time.Duration) (*reading, error) {
	fits := func() *reading {
		if r := s.table.Load(); r != nil && time.Since(r.at) < age {
			return r
		}
		return nil
	}
	if r := fits(); r != nil {
		return r, nil
	}
	s.asks.Lock()
	defer s.asks.Unlock()
	if r := fits(); r != nil { // another writer has read it meanwhile
		return r, nil
	}
	s.table.Store(nil)
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.table.Store(now)
	return now, nil
}

// read queries the database.
func (s *Sink) read(ctx context.Context) (*reading, error) {
	now := &reading{table: s.plain, at: time.Now()}
	found, err := s.describe(ctx, &now.table)
	if err != nil {
		return nil, err
	}
	now.notes = now.compare(found)
	if stops := slices.DeleteFunc(slices.Clone(now.notes), func(m Mismatch) bool { return m.Reach != ReachAll }); len(stops) > 0 {
		return nil, &TableError{Table: now.name, Mismatches: stops}
	}
	now.stage = now.newStage(lockWait(s.timeout))
	now.upsert, now.removal = now.upsertSQL(now.stage.name), now.table.removal()
	now.raise, now.older = fmt.Sprintf(raise, now.guard), fmt.Sprintf(older, now.guard)
	return now, nil
}

// describe reads the description of the table and its guard. If a connected database cannot describe them, no record can
// be written: the schema may not be used, or PostGIS is missing.
func (s *Sink) describe(ctx context.Context, t *table) (facts, error) {
	found, err := describe(ctx, s.db, t.quoted, t.guard)
	if err == nil || postgres.Connecting(err) || s.classify(err).Transient() {
		return found, err
	}
	return found, &TableError{Table: t.name, Mismatches: []Mismatch{{Fault: "cannot be read: " + err.Error(), Reach: ReachAll}}, Err: err}
}

// same reports whether two readings found the same table.
func (r *reading) same(other *reading) bool {
	return r != nil && other != nil && r.upsert == other.upsert && r.place == other.place && fmt.Sprint(r.columns, r.unfit) == fmt.Sprint(other.columns, other.unfit)
}

// Prepare compares the table with the rows to write. It returns the mismatches with which the consumer can write
// nevertheless, and a *TableError with those with which it cannot.
func (s *Sink) Prepare(ctx context.Context) (notes []Mismatch, err error) {
	probe := s.plain
	facts, err := s.describe(ctx, &probe)
	if err != nil {
		return nil, err
	}
	found := probe.compare(facts)
	for _, m := range found {
		if !m.refuses() {
			notes = append(notes, m)
		}
	}
	if refused := slices.DeleteFunc(found, func(m Mismatch) bool { return !m.refuses() }); len(refused) > 0 {
		return notes, &TableError{Table: probe.name, Mismatches: refused}
	}
	return notes, nil
}
