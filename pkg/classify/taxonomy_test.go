package classify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// kafkaError imitates errors of Kafka clients.
type kafkaError int16

func (e kafkaError) Error() string         { return "kafka" }
func (e kafkaError) KafkaErrorCode() int16 { return int16(e) }

// responseError is the expected content of a row of the taxonomy, written a second time by hand.
type responseError struct {
	class    classify.Class
	level    classify.Level
	category classify.Category
	alert    classify.Alert
}

func TestTaxonomy_S4_3_every_condition(t *testing.T) {
	transient := func(c classify.Category) responseError {
		return responseError{classify.RetryBackoff, classify.LevelTransient, c, classify.AlertP2}
	}
	permanent := func(c classify.Category, a classify.Alert) responseError {
		return responseError{classify.Permanent, classify.LevelPermanent, c, a}
	}
	bad := responseError{classify.Row, classify.LevelRow, classify.CategoryValidation, classify.AlertP3}
	once := func(c classify.Category) responseError {
		return responseError{classify.RetryBackoff, classify.LevelTransient, c, classify.AlertP1}
	}
	rateLimit := responseError{classify.RetryAfter, classify.LevelTransient, classify.CategoryRateLimit, classify.AlertP2}
	conflict := responseError{classify.RetryNow, classify.LevelTransient, classify.CategoryConflict, classify.AlertP2}
	full := responseError{classify.Permanent, classify.LevelPipeline, classify.CategoryEnvironment, classify.AlertP1}
	network, timeout, database, broker := transient(classify.CategoryNetwork), transient(classify.CategoryTimeout), transient(classify.CategoryDatabase), transient(classify.CategoryBroker)
	access, schema := permanent(classify.CategoryAccess, classify.AlertP1), permanent(classify.CategorySchema, classify.AlertP1)
	request := permanent(classify.CategoryRequest, classify.AlertP3)
	unknown := permanent(classify.CategoryDefect, classify.AlertP1)
	for _, r := range []struct {
		name string
		err  error
		code classify.Code
		want responseError
	}{
		{"S4-3 network timeout", context.DeadlineExceeded, "timeout", timeout},
		{"S4-3 network timeout of a read", os.ErrDeadlineExceeded, "timeout", timeout},
		{"S4-3 429 rate limit", status(429), "http_too_many_requests", rateLimit},
		{"S4-3 502", status(502), "http_bad_gateway", transient(classify.CategoryServer)},
		{"S4-3 503, S2-3", status(503), "http_unavailable", transient(classify.CategoryServer)},
		{"S4-3 504", status(504), "http_gateway_timeout", timeout},
		{"S0-3 500, terminal by default", status(500), "http_server_error", permanent(classify.CategoryServer, classify.AlertP2)},
		{"S4-3 401", status(401), "http_unauthorized", access},
		{"S4-3 403", status(403), "http_forbidden", access},
		{"S4-3 404 row level", status(404), "http_not_found", responseError{classify.Row, classify.LevelRow, classify.CategoryRequest, classify.AlertP4}},
		{"S4-3 400", status(400), "http_bad_request", request},
		{"S4-3 other 4xx", status(409), "http_client_error", request},
		{"redirect", status(307), "http_redirect", request},
		{"204 where an answer was needed", status(204), "bad_response", transient(classify.CategoryServer)},

		{"S1-2 connection refused", syscall.ECONNREFUSED, "connection_refused", network},
		{"S1-2 connection reset", syscall.ECONNRESET, "connection_reset", network},
		{"S1-2 broken pipe", syscall.EPIPE, "connection_reset", network},
		{"S1-2 cut answer", io.ErrUnexpectedEOF, "connection_reset", network},
		{"S1-2 no answer", &url.Error{Err: io.EOF}, "connection_reset", network},
		{"S1-2 DNS", &net.DNSError{IsNotFound: true}, "dns", network},
		{"S1-2 unreachable", syscall.ENETUNREACH, "network", network},
		{"S1-2 network down", syscall.ENETDOWN, "network", network},
		{"S1-2 socket", &net.OpError{Err: errors.New("x")}, "network", network},
		{"TLS certificate", &tls.CertificateVerificationError{Err: errors.New("x")}, "tls", access},
		{"TLS alert over QUIC", tls.AlertError(42), "tls", access},
		{"TLS alert within another failure", &net.OpError{Op: "GET http://h", Err: &net.OpError{Op: "remote error", Err: errors.New("x")}}, "tls", access},
		{"HTTP where TLS was expected", http.ErrSchemeMismatch, "tls", access},
		{"TLS unknown authority", x509.UnknownAuthorityError{}, "tls", access},
		{"no TLS at all", tls.RecordHeaderError{}, "tls", access},
		{"malformed address", &net.OpError{Err: &net.AddrError{}}, "unknown", unknown},

		{"S4-3 deadlock", sqlError("40P01"), "db_conflict", conflict},
		{"S4-3 serialization failure", sqlError("40001"), "db_conflict", conflict},
		{"S4-3 transient DB error 08006", sqlError("08006"), "db_unavailable", database},
		{"SQLSTATE 57P01 terminated", sqlError("57P01"), "db_unavailable", database},
		{"SQLSTATE 53300 too many connections", sqlError("53300"), "db_unavailable", database},
		{"SQLSTATE 25006 standby", sqlError("25006"), "db_unavailable", database},
		{"SQLSTATE 25P03 idle in transaction", sqlError("25P03"), "db_unavailable", database},
		{"SQLSTATE 55006 in use", sqlError("55006"), "db_unavailable", database},
		{"SQLSTATE 58000 system error", sqlError("58000"), "db_unavailable", database},
		{"SQLSTATE 57014 statement timeout", sqlError("57014"), "timeout", timeout},
		{"SQLSTATE 55P03 lock timeout", sqlError("55P03"), "timeout", timeout},
		{"SQLSTATE 25P04 transaction timeout", sqlError("25P04"), "timeout", timeout},
		{"S4-3 bad credentials", sqlError("28P01"), "db_access", access},
		{"SQLSTATE 0P000 no such role", sqlError("0P000"), "db_access", access},
		{"SQLSTATE 42501 no privilege", sqlError("42501"), "db_access", access},
		{"S4-3 schema mismatch: no such column", sqlError("42703"), "db_schema", schema},
		{"S4-3 schema mismatch: another type", sqlError("42804"), "db_schema", schema},
		{"SQLSTATE 3D000 no such database", sqlError("3D000"), "db_schema", schema},
		{"SQLSTATE 0A000", sqlError("0A000"), "db_schema", schema},
		{"S4-3 data validation: numeric overflow", sqlError("22003"), "db_data", bad},
		{"S4-3 data validation: NULL in a required column", sqlError("23502"), "db_constraint", bad},
		{"SQLSTATE 23514 check", sqlError("23514"), "db_constraint", bad},
		{"SQLSTATE P0001 raised by a trigger", sqlError("P0001"), "db_constraint", bad},
		{"SQLSTATE XX000", sqlError("XX000"), "db_internal", unknown},
		{"SQLSTATE of no row", sqlError("99999"), "unknown", unknown},
		{"S4-3 disk full in the database", sqlError("53100"), "disk_full", full},
		{"S4-3 temp_file_limit", sqlError("53400"), "disk_full", full},
		{"S4-3 out of memory in the database", sqlError("53200"), "out_of_memory", once(classify.CategoryMemory)},
		{"SQLSTATE 58030", sqlError("58030"), "io_failed", once(classify.CategoryIO)},

		{"S4-3 disk full", &fs.PathError{Op: "write", Err: syscall.ENOSPC}, "disk_full", full},
		{"quota used up", syscall.EDQUOT, "disk_full", full},
		{"S4-3 out of memory", syscall.ENOMEM, "out_of_memory", once(classify.CategoryMemory)},
		{"S3-3 I/O boundary: files", &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}, "io_failed", once(classify.CategoryIO)},
		{"S3-3 I/O boundary: files of the system", syscall.ENFILE, "io_failed", once(classify.CategoryIO)},
		{"S3-3 I/O boundary: device", syscall.EIO, "io_failed", once(classify.CategoryIO)},
		{"permission", &fs.PathError{Op: "open", Err: syscall.EACCES}, "permission_denied", access},
		{"canceled", context.Canceled, "canceled", responseError{classify.RetryBackoff, classify.LevelTransient, classify.CategoryOther, classify.AlertP4}},
		{"S4-15 panic", &classify.PanicError{Value: "x"}, "panic", responseError{classify.Row, classify.LevelRow, classify.CategoryDefect, classify.AlertP2}},
		{"S4-2 unknown", errors.New("x"), "unknown", unknown},

		{"Kafka not leader", kafkaError(6), "broker_unavailable", broker},
		{"Kafka not enough replicas", kafkaError(19), "broker_unavailable", broker},
		{"Kafka throttled", kafkaError(89), "broker_unavailable", broker},
		{"Kafka request timed out", kafkaError(7), "timeout", timeout},
		{"Kafka topic authorization", kafkaError(29), "broker_access", access},
		{"Kafka SASL", kafkaError(58), "broker_access", access},
		{"Kafka message too large", kafkaError(10), "output_too_large", bad},
		{"Kafka invalid request", kafkaError(42), "broker_rejected", permanent(classify.CategoryRequest, classify.AlertP1)},
		{"Kafka unknown server error", kafkaError(-1), "broker_rejected", permanent(classify.CategoryRequest, classify.AlertP1)},
		{"Kafka error of tomorrow", kafkaError(999), "broker_rejected", permanent(classify.CategoryRequest, classify.AlertP1)},

		{"S4-3 validation", coded{code: classify.CodeMissingRequired}, "missing_required", bad},
		{"S4-3 schema mismatch in Avro", coded{code: classify.CodeAvroDecode}, "avro_decode", responseError{classify.Row, classify.LevelRow, classify.CategorySchema, classify.AlertP3}},
		{"S3-3 schema violation", coded{code: classify.CodeSchemaMismatch}, "schema_mismatch", schema},
		{"registry unavailable", coded{code: classify.CodeRegistryUnavailable}, "registry_unavailable", transient(classify.CategoryRegistry)},
		{"S3-3 CARE enforcement", coded{code: classify.CodeGovernanceDenied}, "governance_denied", responseError{classify.Row, classify.LevelRow, classify.CategoryGovernance, classify.AlertP1}},
		{"S4-1 batch", coded{code: classify.CodeBatchQuarantined}, "batch_quarantined", responseError{classify.Permanent, classify.LevelBatch, classify.CategoryValidation, classify.AlertP1}},
	} {
		f := classify.Of(fmt.Errorf("place: %w", r.err))
		got := (responseError{f.Class, f.Level, f.Category, f.Alert})
		expect.That(t, f.Code == r.code && got == r.want, "%v: %v is %s %+v, want %s %+v", r.name, r.err, f.Code, got, r.code, r.want)
		coherent(t, f)
	}
}

func TestTaxonomy_S4_3_is_closed(t *testing.T) {
	seen := map[classify.Code]bool{}
	for _, e := range classify.Taxonomy() {
		expect.That(t, !seen[e.Code], "%s has two rows", e.Code)
		seen[e.Code] = true
		switch {
		case !slices.Contains(classify.Classes(), e.Class), !slices.Contains(classify.Levels(), e.Level),
			!slices.Contains(classify.Categories(), e.Category), !slices.Contains(classify.Alerts(), e.Alert):
			t.Errorf("a word outside its list: %+v", e)
		case e.Condition() == "":
			t.Errorf("no condition leads to %s", e.Code)
		case (e.Level == classify.LevelTransient) != (e.Class == classify.RetryNow || e.Class == classify.RetryBackoff || e.Class == classify.RetryAfter):
			t.Errorf("%s is of class %s and level %s", e.Code, e.Class, e.Level)
		case e.Level == classify.LevelTransient && !e.Category.Retried():
			t.Errorf("%s is tried again and has category %s, which has no policy", e.Code, e.Category)
		case e.Level != classify.LevelTransient && e.Category.Retried() && e.Code != classify.CodeHTTPServerError:
			t.Errorf("%s is not tried again and has category %s", e.Code, e.Category)
		case e.Category == classify.CategoryGovernance && (e.Level == classify.LevelTransient || e.Alert != classify.AlertP1):
			t.Errorf("S3-3: governance is escalated, never retried: %+v", e)
		}
	}
}

// S3-3: the only category that blocks is that of the operating system, and it is retried before.
func TestCategory_S3_3_io_blocks(t *testing.T) {
	for _, c := range classify.Categories() {
		expect.That(t, c.Blocks() == (c == classify.CategoryIO) && (!c.Blocks() || c.Retried()), "%s blocks: %v", c, c.Blocks())
	}
}
