package classify

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
)

// codeOf is the first half of the table: condition → code. The first condition that holds counts, so what says most
// about the cause comes first.
func codeOf(err error) Code {
	switch {
	// The error names its code itself.
	case is[*PanicError](err):
		return CodePanic
	case is[Coded](err):
		return codeOfCoded(err)
	case is[*HTTPError](err):
		return codeOfStatus(err)

	// We stopped it ourselves: that says nothing about the record.
	case errors.Is(err, context.Canceled):
		return CodeCanceled

	// A database conflict (SQLSTATE 40001 serialization_failure, 40P01 deadlock_detected).
	case sqlState(err) == "40001", sqlState(err) == "40P01":
		return CodeDBConflict

	// The network. A name that is not found counts as passing: a service that restarts has none for a while.
	case is[*net.DNSError](err):
		return CodeDNS
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timedOut(err):
		return CodeTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return CodeConnectionRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.ErrUnexpectedEOF), is[*url.Error](err) && errors.Is(err, io.EOF):
		return CodeConnectionReset
	case is[*tls.CertificateVerificationError](err), is[tls.RecordHeaderError](err):
		return CodeTLS
	case is[*net.AddrError](err): // a malformed address of ours, which no waiting mends
		return CodeUnknown
	case is[*net.OpError](err), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETDOWN):
		return CodeNetwork

	default:
		return CodeUnknown
	}
}

// statusCode is the part of codeOf for an HTTP status that made a request fail.
func statusCode(status int) Code {
	switch {
	case status == 400:
		return CodeHTTPBadRequest
	case status == 401:
		return CodeHTTPUnauthorized
	case status == 403:
		return CodeHTTPForbidden
	case status == 404, status == 410:
		return CodeHTTPNotFound
	case status == 429:
		return CodeHTTPTooManyRequests
	case status == 502:
		return CodeHTTPBadGateway
	case status == 503:
		return CodeHTTPUnavailable
	case status == 504:
		return CodeHTTPGatewayTimeout
	case 200 <= status && status < 300: // a success that somebody calls a failure: 204 where an answer was needed
		return CodeBadResponse
	case 300 <= status && status < 400:
		return CodeHTTPRedirect
	case 400 <= status && status < 500:
		return CodeHTTPClientError
	case 500 <= status && status < 600:
		return CodeHTTPServerError
	default:
		return CodeUnknown
	}
}

// classOf is the second half of the table: code → class. The level follows from the class. An HTTP status in the list of
// retryable ones overrides its row (see Options).
func classOf(code Code) Class {
	switch code {
	case CodeNotJSON, CodeTruncatedJSON, CodeInvalidUTF8, CodeDuplicateKey, CodeTrailingData, CodeTooDeep, CodeWrongType,
		CodeNotAFeature, CodeEmptyValue, CodeNullKey, CodeRecordTooLarge, CodeLimitExceeded, CodeMalformedHeader,
		CodeUnknownCRS, CodeGeometryStructure, CodeGeometryInvalid, CodeGeometryEmpty, CodeGeometryType,
		CodeCoordinateRange, CodeMissingRequired, CodeCoercionFailed, CodeFlattenConflict, CodeOutputTooLarge,
		CodeMemberCase, CodeNullOrdinate, CodeNumberRange, CodeNumberPrecision, CodeCRSConflict, CodeGeometryNotSimple, CodeGeometryDimension,
		CodeAntimeridian, CodeBBoxMismatch, CodePrecisionDegraded, CodeValueNotAllowed, CodeExpressionFailed, CodeForeignKeyEmpty, CodeForeignKeyUnresolved:
		return Row
	case CodeEnvelopeMalformed, CodeAvroDecode, CodeSchemaUnknown, CodeWKBMalformed, CodeWKTMalformed,
		CodeUnsupportedGeometry:
		return Row
	case CodePanic: // one record's bad luck must not stop the flow (S4-15)
		return Row
	case CodeHTTPNotFound: // what the record refers to does not exist
		return Row

	case CodeTimeout, CodeConnectionRefused, CodeConnectionReset, CodeDNS, CodeNetwork,
		CodeRegistryUnavailable:
		return RetryBackoff
	case CodeBadResponse: // proxies and half-started services answer 200 with a page of their own; it passes
		return RetryBackoff
	case CodeCanceled:
		return RetryBackoff
	case CodeDBConflict:
		return RetryNow

	// With the default lists these four never stay here: they are retryable.
	case CodeHTTPTooManyRequests, CodeHTTPBadGateway, CodeHTTPUnavailable, CodeHTTPGatewayTimeout:
		return Permanent
	case CodeHTTPBadRequest, CodeHTTPUnauthorized, CodeHTTPForbidden, CodeHTTPClientError, CodeHTTPRedirect,
		CodeHTTPServerError:
		return Permanent
	case CodeTLS, CodeSchemaMismatch, CodeAddressRefused, CodeUnknown:
		return Permanent
	default:
		return Permanent
	}
}

// categoryOf gives the category of a classified failure. What was said to pass against its row, by the list of
// retryable statuses or by a mark, is the server's business or other.
func categoryOf(f Failure) Category {
	c := codeCategory(f.Code)
	if !f.Transient() || c.Retried() {
		return c
	}
	if is[*HTTPError](f.Err) {
		return CategoryServer
	}
	return CategoryOther
}

// codeCategory is the third part of the table: code → category.
func codeCategory(code Code) Category {
	switch code {
	case CodeTimeout, CodeHTTPGatewayTimeout:
		return CategoryTimeout
	case CodeConnectionRefused, CodeConnectionReset, CodeDNS, CodeNetwork:
		return CategoryNetwork
	case CodeHTTPTooManyRequests:
		return CategoryRateLimit
	case CodeHTTPServerError, CodeHTTPBadGateway, CodeHTTPUnavailable, CodeBadResponse:
		return CategoryServer
	case CodeRegistryUnavailable:
		return CategoryRegistry
	case CodeDBConflict:
		return CategoryConflict
	case CodeCanceled:
		return CategoryOther
	case CodeTLS, CodeHTTPUnauthorized, CodeHTTPForbidden:
		return CategoryAccess
	case CodeHTTPBadRequest, CodeHTTPNotFound, CodeHTTPClientError, CodeHTTPRedirect:
		return CategoryRequest
	case CodePanic, CodeUnknown:
		return CategoryDefect
	default:
		return CategoryValidation
	}
}
