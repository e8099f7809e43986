package retrytopics

import (
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// FormerTier is a topic that is named like a tier of the pipeline but is not configured.
type FormerTier struct {
	policy.Tier
	Partitions int
	ID         [16]byte
}

// FormerTiers lists the topics that are named like a tier with this prefix and are not in known, by delay. all are the
// topics of the cluster. Topics that the client must not describe are missing.
func FormerTiers(prefix string, known []string, all kadm.TopicDetails) []FormerTier {
	var former []FormerTier
	for _, f := range topics.FormerAmong(prefix, known, all) {
		former = append(former, FormerTier(f))
	}
	return former
}
