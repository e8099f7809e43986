package classify

import (
	"errors"
	"strings"
)

// numbered maps a number of another system to a code.
type numbered struct {
	number string // for an SQLSTATE also a prefix, such as 08
	code   Code
	when   string
}

// sqlStates maps the SQLSTATEs of PostgreSQL (appendix A of its manual). The longest matching prefix counts; without a
// match the code is CodeUnknown.
func sqlStates() []numbered {
	return []numbered{
		{"08", CodeDBUnavailable, "connection exception"},
		{"0A", CodeDBSchema, "feature not supported"},
		{"0P", CodeDBAccess, "invalid role"},
		{"21", CodeDBData, "cardinality violation: two rows where at most one is allowed"},
		{"22", CodeDBData, "data exception"},
		{"23", CodeDBConstraint, "integrity constraint violation"},
		{"25006", CodeDBUnavailable, "read-only transaction: the server is a standby now"},
		{"25P03", CodeDBUnavailable, "idle in transaction for too long"},
		{"25P04", CodeTimeout, "transaction timeout"},
		{"26", CodeDBUnavailable, "a prepared statement does not exist: the connection goes to another server now"},
		{"28", CodeDBAccess, "invalid authorization: bad credentials"},
		{"3D", CodeDBSchema, "no such database"},
		{"3F", CodeDBSchema, "no such schema"},
		{"40", CodeDBConflict, "transaction rollback"},
		{"40001", CodeDBConflict, "serialization failure"},
		{"40P01", CodeDBConflict, "deadlock detected"},
		{"42", CodeDBSchema, "no such column or table, another type, a syntax error"},
		{"42501", CodeDBAccess, "insufficient privilege"},
		{"42P05", CodeDBUnavailable, "a prepared statement already exists: the connection has changed its server"},
		{"44", CodeDBConstraint, "check option of a view"},
		{"53", CodeDBUnavailable, "insufficient resources"},
		{"53100", CodeDiskFull, "disk full"},
		{"53200", CodeOutOfMemory, "out of memory"},
		{"53300", CodeDBUnavailable, "too many connections"},
		{"53400", CodeDiskFull, "a configured limit, such as temp_file_limit"},
		{"54", CodeDBData, "program limit exceeded: nested too deep, or too long for an index"},
		{"55006", CodeDBUnavailable, "object in use"},
		{"55P03", CodeTimeout, "lock not available in time"},
		{"57014", CodeTimeout, "query cancelled: statement timeout"},
		{"57P01", CodeDBUnavailable, "terminated by an administrator"},
		{"57P02", CodeDBUnavailable, "crash of another backend"},
		{"57P03", CodeDBUnavailable, "the server is starting up or shutting down"},
		{"57P05", CodeDBUnavailable, "idle session timeout"},
		{"58", CodeDBUnavailable, "system error"},
		{"58030", CodeIOFailed, "input or output failed"},
		{"P0", CodeDBConstraint, "a trigger or function refused the row"},
		{"XX", CodeDBInternal, "internal error"},
	}
}

// sqlStateCode returns the code of an SQLSTATE.
func sqlStateCode(state string) Code {
	best := numbered{code: CodeUnknown}
	for _, row := range sqlStates() {
		if strings.HasPrefix(state, row.number) && len(row.number) > len(best.number) {
			best = row
		}
	}
	return best.code
}

// sqlState returns the SQLSTATE of err, as the PostgreSQL drivers report it, or "".
func sqlState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return ""
}
