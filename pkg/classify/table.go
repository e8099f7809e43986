package classify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// codeOf is the first half of the table: condition → code; the second half, code → reaction, is Taxonomy. The first
// condition that holds counts, so the most specific come first: the error's own code, then numbers, then types.
func (c *Classifier) codeOf(err error) Code {
	switch {
	case is[*PanicError](err):
		return CodePanic
	case is[Coded](err):
		return c.codeOfCoded(err)
	case is[*HTTPError](err):
		return codeOfStatus(err)
	case errors.Is(err, context.Canceled): // this process cancelled it: that says nothing about the record
		return CodeCanceled
	}
	if state := sqlState(err); state != "" {
		return sqlStateCode(state)
	}
	if number, ok := kafkaErrorCode(err); ok {
		return kafkaCode(number)
	}
	for _, condition := range c.typed {
		if condition.holds(err) {
			return condition.code
		}
	}
	return CodeUnknown
}

// condition is one condition about an error's type or value.
type condition struct {
	code  Code
	when  string
	holds func(error) bool
}

// typed lists the conditions about types and values, in order.
func typed() []condition {
	return []condition{
		{CodeDiskFull, "no space left on the device, or the quota is used up (ENOSPC, EDQUOT)", isErrno(syscall.ENOSPC, syscall.EDQUOT)},
		{CodeOutOfMemory, "the system is out of memory (ENOMEM)", isErrno(syscall.ENOMEM)},
		{CodeIOFailed, "too many open files, no buffers, a device that fails (EMFILE, ENFILE, ENOBUFS, EIO)", isErrno(syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EIO)},
		{CodeDNS, "a name that is not found, or a name server without an answer", is[*net.DNSError]},
		{CodeTimeout, "a deadline that passed, and every error that calls itself a timeout", isTimeout},
		{CodeConnectionRefused, "nothing listens (ECONNREFUSED)", isErrno(syscall.ECONNREFUSED)},
		{CodeConnectionReset, "reset, aborted, a broken pipe (ECONNRESET, ECONNABORTED, EPIPE)", isErrno(syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE)},
		{CodeConnectionReset, "an answer that ends too early, or does not begin", isCut},
		{CodeTLS, "a certificate that is not trusted, a TLS alert, a server that does not speak TLS", isTLS},
		{CodePermissionDenied, "a file that may not be read or written (EACCES, EPERM)", isErrno(fs.ErrPermission)},
		{CodeUnknown, "a malformed address in the configuration", is[*net.AddrError]},
		{CodeNetwork, "unreachable, or another failure of a socket", isNetwork},
	}
}

func isErrno(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || timedOut(err)
}

func isCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || is[*url.Error](err) && errors.Is(err, io.EOF)
}

func isTLS(err error) bool {
	return is[*tls.CertificateVerificationError](err) || is[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch) || isAlert(err) ||
		is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) || is[x509.CertificateInvalidError](err)
}

// isAlert reports whether the other side ended TLS with an alert. Only QUIC has a type for it; over TCP only crypto/tls
// names the operation so.
func isAlert(err error) bool {
	alert, ok := errors.AsType[*net.OpError](err)
	for ok && alert.Op != "remote error" {
		alert, ok = errors.AsType[*net.OpError](alert.Err)
	}
	return ok || is[tls.AlertError](err)
}

func isNetwork(err error) bool {
	return is[*net.OpError](err) || isErrno(net.ErrClosed, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN)(err)
}

// statuses maps the HTTP statuses of failed requests. The narrowest row counts.
func statuses() []struct {
	from, to int
	code     Code
} {
	return []struct {
		from, to int
		code     Code
	}{
		{400, 400, CodeHTTPBadRequest},
		{401, 401, CodeHTTPUnauthorized},
		{403, 403, CodeHTTPForbidden},
		{404, 404, CodeHTTPNotFound},
		{410, 410, CodeHTTPNotFound},
		{429, 429, CodeHTTPTooManyRequests},
		{502, 502, CodeHTTPBadGateway},
		{503, 503, CodeHTTPUnavailable},
		{504, 504, CodeHTTPGatewayTimeout},
		{200, 299, CodeBadResponse}, // a success that a caller calls a failure: 204 where an answer was needed
		{300, 399, CodeHTTPRedirect},
		{400, 499, CodeHTTPClientError},
		{500, 599, CodeHTTPServerError},
	}
}

func statusCode(status int) Code {
	for _, row := range statuses() {
		if row.from <= status && status <= row.to {
			return row.code
		}
	}
	return CodeUnknown
}

// categoryOf returns the category of a classified failure. A failure that the list of retryable statuses or a mark makes
// transient, against its row, has the category server or other.
func categoryOf(f Failure, usual Category) Category {
	if !f.Transient() || usual.Retried() {
		return usual
	}
	if is[*HTTPError](f.Err) {
		return CategoryServer
	}
	return CategoryOther
}
