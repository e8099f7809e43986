package retrytopics

import (
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// FormerTiers lists the topics that are named like a tier with this prefix and are not in known, by delay. all are the
// topics of the cluster. Topics that the client must not describe are missing.
func FormerTiers(prefix string, known []string, all kadm.TopicDetails) (names []string) {
	for _, f := range topics.FormerAmong(prefix, known, all) {
		names = append(names, f.Topic)
	}
	return names
}
