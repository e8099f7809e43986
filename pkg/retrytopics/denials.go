package retrytopics

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// denial adds operation and resource to an error of a missing permission, and returns any other error unchanged.
func (e *Engine) denial(operation, resource string, err error) error {
	return Denial(e.cfg.Client.Principal, operation, resource, err)
}

// commitDenial is denial for the end of a transaction. Kafka does not name the topic whose commit it refused.
func (e *Engine) commitDenial(err error) error {
	switch {
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return e.denial("Write", "transactional id "+e.cfg.TransactionalID(), err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return e.denial("Read", "a topic of the group "+e.cfg.Group, err)
	}
	return e.denial("Read", "group "+e.cfg.Group, err)
}

// produceDenial is denial for a record that the broker refused: the cluster may refuse the topic or the transactional
// ID.
func (e *Engine) produceDenial(topic string, err error) error {
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return e.denial("Write", "transactional id "+e.cfg.TransactionalID(), err)
	}
	return e.denial("Write", "topic "+topic, err)
}

func (e *Engine) denialAmong(operation string, topics []string, err error, ask func(topic string) error) error {
	return DenialAmong(e.cfg.Client.Principal, operation, topics, err, ask)
}
