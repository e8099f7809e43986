package retrytopics

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// DeniedError is a missing permission: the operation and the resource that the cluster refused. A person must grant it;
// nothing is lost meanwhile.
type DeniedError struct {
	Resource  string // such as "topic features.dlq"; "" if the cluster does not name it
	Operation string // such as "Write"
	Principal string // the refused principal; "" if the client does not know its own name
	Err       error
}

// UnknownPrincipal replaces the principal in the text of a DeniedError without one.
const UnknownPrincipal = "the principal of this client"

// Error names the missing permission.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s may not %s %s: %v", cmp.Or(e.Principal, UnknownPrincipal), e.Operation, e.Resource, e.Err)
}

// Unwrap returns the cluster's error.
func (e *DeniedError) Unwrap() error { return e.Err }

// Denial returns a *DeniedError for an error of a missing permission that does not wrap one already; any other error is
// unchanged. principal is "" if it is unknown.
func Denial(principal, operation, resource string, err error) error {
	if err == nil || !kafka.Denied(err) {
		return err
	}
	if _, named := errors.AsType[*DeniedError](err); named {
		return err
	}
	return &DeniedError{Resource: resource, Operation: operation, Principal: principal, Err: err}
}

// DenialAmong is Denial for a request about several topics whose answer does not name the refused one. ask asks for one
// of them.
func DenialAmong(principal, operation string, topics []string, err error, ask func(topic string) error) error {
	if _, named := errors.AsType[*DeniedError](err); named || err == nil || !kafka.Denied(err) {
		return err
	}
	for _, topic := range topics {
		if own := ask(topic); kafka.Denied(own) {
			return Denial(principal, operation, "topic "+topic, own)
		}
	}
	return err // it was granted meanwhile
}
