package kafka

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

func TestNamed_S4_15_saysWhoLacksWhatAndWhatPrintsIt(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"topic", DeniedTopic("Read", "a.dlq", kerr.TopicAuthorizationFailed), "x: User:app may not Read topic a.dlq: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]"},
		{"group", DeniedGroup("Read", "g", kerr.GroupAuthorizationFailed), "x: User:app may not Read group g: GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group authorization failed."},
		{"transactional id of a record", DeniedProduce("g-1", "a", kerr.TransactionalIDAuthorizationFailed), "x: User:app may not Write transactional id g-1: TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Transactional ID authorization failed."},
		{"topic of a record", DeniedProduce("g-1", "a", kerr.TopicAuthorizationFailed), "x: User:app may not Write topic a: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]"},
		{"transactional id", DeniedTransactionalID("g-1", kerr.TransactionalIDAuthorizationFailed), "x: User:app may not Write transactional id g-1: TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Transactional ID authorization failed."},
	} {
		wrapped := fmt.Errorf("x: %w", c.err)
		got := NamedDenial("User:app", "consumer topics acls", wrapped)
		expect.Equal(t, c.want+"; an administrator of the cluster must grant it: `consumer topics acls` prints what is needed", got.Error(), c.name, got)
		denied, ok := errors.AsType[*retrytopics.DeniedError](got)
		expect.That(t, ok && denied.Operation != "", "%s: the kind of the error is gone", c.name)
	}
	for _, other := range []error{nil, errors.New("other"), DeniedTopic("Read", "a", kerr.UnknownTopicOrPartition)} {
		if got := NamedDenial("User:app", "c", other); got != other { //nolint:errorlint // the very same
			t.Errorf("%v became %v", other, got)
		}
	}
}

func TestTopics_S4_15_findsTheTopicThatWasRefused(t *testing.T) {
	ask := func(name string) error {
		if name == "b" {
			return kerr.TopicAuthorizationFailed
		}
		return nil
	}
	got := DeniedTopics("Describe", []string{"a", "b", "c"}, kerr.TopicAuthorizationFailed, ask)
	denied, ok := errors.AsType[*retrytopics.DeniedError](got)
	expect.That(t, ok && denied.Resource == "topic b" && denied.Operation == "Describe", "%v", got)
	for _, other := range []error{nil, errors.New("other"), DeniedTopic("Read", "a", kerr.TopicAuthorizationFailed)} {
		if got := DeniedTopics("Describe", []string{"b"}, other, ask); got != other { //nolint:errorlint // the very same
			t.Errorf("%v became %v", other, got)
		}
	}
	got = DeniedTopics("Describe", []string{"a"}, kerr.TopicAuthorizationFailed, ask)
	expect.That(t, errors.Is(got, kerr.TopicAuthorizationFailed), "granted meanwhile: %v", got)
}
