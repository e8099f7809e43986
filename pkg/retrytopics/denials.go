package retrytopics

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// denial adds operation and resource to an error of a missing permission, and returns any other error unchanged.
func (in *instance) denial(operation, resource string, err error) error {
	return Denial(in.cfg.Client.Principal, operation, resource, err)
}

// commitDenial is denial for the end of a transaction. Kafka does not name the topic whose commit it refused.
func (in *instance) commitDenial(err error) error {
	switch {
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return in.denial("Write", "transactional id "+in.cfg.TransactionalID(), err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return in.denial("Read", "a topic of the group "+in.cfg.Group, err)
	}
	return in.denial("Read", "group "+in.cfg.Group, err)
}

// produceDenial is denial for a record that the broker refused: the cluster may refuse the topic or the transactional
// ID.
func (in *instance) produceDenial(topic string, err error) error {
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return in.denial("Write", "transactional id "+in.cfg.TransactionalID(), err)
	}
	return in.denial("Write", "topic "+topic, err)
}

func (in *instance) denialAmong(operation string, topics []string, err error, ask func(topic string) error) error {
	return DenialAmong(in.cfg.Client.Principal, operation, topics, err, ask)
}
