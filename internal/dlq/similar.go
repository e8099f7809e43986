package dlq

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// maxSimilar bounds the names that look like those of a DLQ.
const maxSimilar = 5

// SimilarTopics returns the topics of a cluster whose names look like those of a DLQ, and the one most similar to a name.
// It returns none if the brokers do not list them.
func SimilarTopics(ctx context.Context, cfg *config.Config, name string, more ...kgo.Opt) []string {
	opts, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return nil
	}
	client, err := kgo.NewClient(append(opts, more...)...)
	if err != nil {
		return nil
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx)
	if err != nil {
		return nil
	}
	var found []string
	for _, topic := range topics.Names() {
		word := strings.ToLower(topic)
		isDLQ := slices.ContainsFunc([]string{"dlt", "dlq", "dead", "poison", "error"}, func(part string) bool { return strings.Contains(word, part) })
		if isDLQ && !strings.Contains(topic, ".replayer-") && len(found) < maxSimilar {
			found = append(found, topic)
		}
	}
	if near := config.Nearest(name, topics.Names()); near != "" && !slices.Contains(found, near) {
		found = append([]string{near}, found...)
	}
	return found
}
