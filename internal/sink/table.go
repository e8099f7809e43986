package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/crs"
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
	claims   bool // rows are found by something else than the record key, and the guard knows their keys
	rule     config.SinkKey
	expected expected

	columns   []column          // for properties
	forms     []form            // how their texts are written
	index     map[string]int    // their indexes, by name
	unfit     map[string]string // properties that the configuration names, and why the table cannot hold them
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
