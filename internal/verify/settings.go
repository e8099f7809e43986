package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// cleanup is the setting that tells whether a topic may lose records in the middle.
const cleanup = "cleanup.policy"

// settings reads which topics are compacted. A topic whose settings are not visible counts as compacted: then a record
// without an end cannot be known instead of being missing.
func (r *run) settings(ctx context.Context) error {
	for _, topic := range append(r.ends(), r.cfg.Source.Topic) {
		settings, err := kafka.Settings(ctx, r.admin, topic)
		if errors.Is(err, kerr.TopicAuthorizationFailed) {
			r.compacted[topic] = true
			r.notes = append(r.notes, fmt.Sprintf("%v: it is taken for compacted", kafka.DeniedTopic("DescribeConfigs", topic, err)))
			continue
		}
		if err != nil {
			return fmt.Errorf("ask the broker for the settings of %s: %w", topic, err)
		}
		r.compacted[topic] = r.compacted[topic] || strings.Contains(settings[cleanup], "compact")
	}
	return nil
}
