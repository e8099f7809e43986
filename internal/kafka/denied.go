package kafka

import (
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// DeniedTopic adds the operation and the topic to an error about a missing permission; any other error is unchanged.
// NamedDenial adds the principal.
func DeniedTopic(operation, topic string, err error) error {
	return retrytopics.Denial("", operation, "topic "+topic, err)
}

// DeniedTopics is DeniedTopic for a request about several topics whose answer does not name the refused one: ask asks
// for one of them.
func DeniedTopics(operation string, topics []string, err error, ask func(topic string) error) error {
	return retrytopics.DenialAmong("", operation, topics, err, ask)
}

// DeniedGroup is DeniedTopic for a consumer group.
func DeniedGroup(operation, group string, err error) error {
	return retrytopics.Denial("", operation, "group "+group, err)
}

// DeniedTransactionalID is DeniedTopic for a producer's transactional ID.
func DeniedTransactionalID(id string, err error) error {
	return retrytopics.Denial("", "Write", "transactional id "+id, err)
}

// DeniedProduce is DeniedTopic for a record of a producer with a transactional ID: the cluster may refuse the topic or
// the ID.
func DeniedProduce(id, topic string, err error) error {
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return DeniedTransactionalID(id, err)
	}
	return DeniedTopic("Write", topic, err)
}

// NamedDenial adds the principal to an error about a missing permission, and the command that prints the needed
// permissions; "" names none. Any other error is unchanged.
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
		text += ": `" + command + "` prints the required ones"
	}
	return &advised{err, text}
}

// advised is a missing permission with advice.
type advised struct {
	error
	text string
}

func (e *advised) Error() string { return e.text }

func (e *advised) Unwrap() error { return e.error }
