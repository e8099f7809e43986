package kafka

import (
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// DeniedTopic names the operation and the topic of an error that says that a permission is missing; any other error stays as
// it is. Who was refused is added by Named.
func DeniedTopic(operation, topic string, err error) error {
	return retrytopics.Denial("", operation, "topic "+topic, err)
}

// DeniedTopics is Topic for a question about several topics, of which the answer does not say which was refused: ask asks for one of
// them.
func DeniedTopics(operation string, topics []string, err error, ask func(topic string) error) error {
	return retrytopics.DenialAmong("", operation, topics, err, ask)
}

// DeniedGroup is Topic for a consumer group.
func DeniedGroup(operation, group string, err error) error {
	return retrytopics.Denial("", operation, "group "+group, err)
}

// DeniedTransactionalID is Topic for a transactional id, to which a producer writes.
func DeniedTransactionalID(id string, err error) error {
	return retrytopics.Denial("", "Write", "transactional id "+id, err)
}

// DeniedProduce is Topic for a record that a producer with a transactional id writes to a topic: the cluster may refuse either.
func DeniedProduce(id, topic string, err error) error {
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return DeniedTransactionalID(id, err)
	}
	return DeniedTopic("Write", topic, err)
}

// NamedDenial adds who was refused to an error that names a missing permission, and the command that prints the permissions that are
// needed; "" names none.
// Any other error stays as it is.
func NamedDenial(principal, command string, err error) error {
	if _, denied := errors.AsType[*retrytopics.DeniedError](err); !denied {
		return err
	}
	text := err.Error()
	if principal != "" {
		text = strings.ReplaceAll(text, retrytopics.UnknownPrincipal, principal)
	}
	text += "; an administrator of the cluster must grant it"
	if command != "" {
		text += ": `" + command + "` prints what is needed"
	}
	return &advised{err, text}
}

// advised is a missing permission with what to do about it.
type advised struct {
	error
	text string
}

func (e *advised) Error() string { return e.text }

func (e *advised) Unwrap() error { return e.error }
