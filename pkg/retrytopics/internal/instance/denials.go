package instance

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Denial adds operation and resource to an error of a missing permission, and returns any other error unchanged.
func (in *Instance) Denial(operation, resource string, err error) error {
	return retrytopics.Denial(in.Cfg.Client.Principal, operation, resource, err)
}

// CommitDenial is denial for the end of a transaction. Kafka does not name the topic whose commit it refused.
func (in *Instance) CommitDenial(err error) error {
	switch {
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return in.Denial("Write", "transactional id "+in.Cfg.TransactionalID(), err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return in.Denial("Read", "a topic of the group "+in.Cfg.Group, err)
	}
	return in.Denial("Read", "group "+in.Cfg.Group, err)
}

// ProduceDenial is denial for a record that the broker refused: the cluster may refuse the topic or the transactional
// ID.
func (in *Instance) ProduceDenial(topic string, err error) error {
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return in.Denial("Write", "transactional id "+in.Cfg.TransactionalID(), err)
	}
	return in.Denial("Write", "topic "+topic, err)
}

func (in *Instance) denialAmong(operation string, topics []string, err error, ask func(topic string) error) error {
	return retrytopics.DenialAmong(in.Cfg.Client.Principal, operation, topics, err, ask)
}
