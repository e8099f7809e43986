package retrytopics

import (
	"cmp"
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
	return fmt.Sprintf("%s may not %s %s: %v", cmp.Or(e.Principal, UnknownPrincipal), e.Operation, e.Resource, e.Err)
}

// Unwrap gives the error of the cluster.
func (e *DeniedError) Unwrap() error { return e.Err }

// denial names the operation and the resource of an error that is one of a missing permission; another error stays as it is.
func (e *Engine) denial(operation, resource string, err error) error {
	return Denial(e.cfg.Client.Principal, operation, resource, err)
}

// commitDenial is denial for the end of a transaction. Kafka does not say which topic the commit was refused for.
func (e *Engine) commitDenial(err error) error {
	switch {
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return e.denial("Write", "transactional id "+e.cfg.transactionalID(), err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return e.denial("Read", "a topic of the group "+e.cfg.Group, err)
	}
	return e.denial("Read", "group "+e.cfg.Group, err)
}

// produceDenial is denial for a record that was not taken: the cluster may refuse the topic or the transactional id.
func (e *Engine) produceDenial(topic string, err error) error {
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return e.denial("Write", "transactional id "+e.cfg.transactionalID(), err)
	}
	return e.denial("Write", "topic "+topic, err)
}

func (e *Engine) denialAmong(operation string, topics []string, err error, ask func(topic string) error) error {
	return DenialAmong(e.cfg.Client.Principal, operation, topics, err, ask)
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

// DenialAmong is Denial for a question about several topics, of which the answer does not say which was refused: ask asks for
// one of them.
func DenialAmong(principal, operation string, topics []string, err error, ask func(topic string) error) error {
	if _, named := errors.AsType[*DeniedError](err); named || err == nil || !denied(err) {
		return err
	}
	for _, topic := range topics {
		if own := ask(topic); denied(own) {
			return Denial(principal, operation, "topic "+topic, own)
		}
	}
	return err // it was granted meanwhile
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
