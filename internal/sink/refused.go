package sink

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// refused marks PostGIS's error about a geometry as a failure of its record. PostGIS uses the number of internal errors
// (XX000), so only the source file of the message distinguishes them from those of a broken server.
func refused(err error) error {
	said, ok := errors.AsType[*pgconn.PgError](err)
	if ok && said.Code == "XX000" && strings.HasPrefix(said.File, "lwgeom_") {
		return &geometryError{err}
	}
	return err
}

// geometryError means that PostGIS refuses a geometry.
type geometryError struct{ error }

// Unwrap returns the database's error.
func (e *geometryError) Unwrap() error { return e.error }

// FailureCode makes it a failure of the record.
func (e *geometryError) FailureCode() classify.Code { return classify.CodeDBData }

// FailureStage is that of the sink.
func (e *geometryError) FailureStage() classify.Stage { return classify.StageSink }
