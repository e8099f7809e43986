package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrOptions means that the client refuses its options; a new client would refuse them too.
var ErrOptions = errors.New("the Kafka client refuses its options")

// MetadataAge is how old the metadata of an administrative client may be.
const MetadataAge = 250 * time.Millisecond

// Access describes how the cluster is reached, and how an error of a missing permission is named.
type Access struct {
	Brokers []string
	Options []kgo.Opt // of every client
	// Denial adds operation and resource to an error of a missing permission, and returns any other error unchanged.
	Denial func(operation, resource string, err error) error
	// DenialAmong is Denial for a request about several topics whose answer does not name the refused one. ask asks for
	// one of them.
	DenialAmong func(operation string, topics []string, err error, ask func(topic string) error) error
}

// ClientOptions returns the options of one new client.
func (a *Access) ClientOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.WithHooks(new(fetchBrake))}
	if len(a.Brokers) > 0 {
		opts = append(opts, kgo.SeedBrokers(a.Brokers...))
	}
	return append(opts, a.Options...)
}

// Admin returns a client for questions about topics and offsets.
func (a *Access) Admin() (*kadm.Client, error) {
	client, err := kgo.NewClient(append(a.ClientOptions(), kgo.MetadataMinAge(MetadataAge))...)
	if err != nil {
		return nil, fmt.Errorf("new client: %w", err)
	}
	return kadm.NewClient(client), nil
}

// Denied reports whether the cluster refused an operation because a permission is missing.
func Denied(err error) bool {
	for _, e := range []error{
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Fenced reports whether another instance has taken over the transactional ID or the membership.
func Fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.FencedInstanceID)
}
