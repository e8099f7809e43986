package retrytopics

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// DeniedError says that the cluster does not allow the engine what it needs: which operation on which resource. Somebody
// must grant it; nothing is lost meanwhile.
type DeniedError struct {
	Resource  string // such as "topic features.dlq"; "" when the cluster does not say which
	Operation string // such as "Write"
	Principal string // who was refused; "" when the client does not know its own name
	Err       error
}

// UnknownPrincipal stands in the text of a DeniedError that does not know its principal.
const UnknownPrincipal = "the principal of this client"

// Error names the missing permission.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s may not %s %s: %v", orDefault(e.Principal, UnknownPrincipal), e.Operation, e.Resource, e.Err)
}

// Unwrap gives the error of the cluster.
func (e *DeniedError) Unwrap() error { return e.Err }

// denial names the operation and the resource of an error that is one of a missing permission; another error stays as it is.
func (e *Engine) denial(operation, resource string, err error) error {
	return Denial(e.cfg.Principal, operation, resource, err)
}

// Denial gives a *DeniedError for an error that says that the cluster lacks a permission, unless it has one in it; any other
// error stays as it is. principal is "" where it is not known.
func Denial(principal, operation, resource string, err error) error {
	if err == nil || !denied(err) {
		return err
	}
	if _, named := errors.AsType[*DeniedError](err); named {
		return err
	}
	return &DeniedError{Resource: resource, Operation: operation, Principal: principal, Err: err}
}

// denied says whether the cluster refused an operation for want of a permission.
func denied(err error) bool {
	for _, e := range []error{
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
