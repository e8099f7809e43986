package retrytopics

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Retry topics belong to one pipeline. If two pipelines are configured with one tier prefix, a new one is refused at its
// start. One that runs leaves the records of the other alone: it does not retry them, and it does not purge the topic.

// ofOtherPipeline reports whether a record of a retry topic is another pipeline's. A record without a pipeline is
// foreign in a former tier; in a tier of this pipeline it is a malformed record of its own. The mutex is held.
func (s *session) ofOtherPipeline(l *partition, r *kgo.Record) bool {
	if l.tier == sourceTier || r.Attrs.IsControl() {
		return false
	}
	writer := topics.WriterOf(r)
	if writer == "" {
		former := l.tier >= len(s.e.cfg.Retries.Tiers)
		return former && (l.shared || l.committed.Offset < 0)
	}
	return writer != s.e.cfg.Origin.Pipeline && !slices.Contains(l.state.pipelines, writer)
}

// leaveToOwner passes over a record of another pipeline, and logs it once per partition. The mutex is held.
func (s *session) leaveToOwner(l *partition, r *kgo.Record) {
	l.end = max(l.end, r.Offset+1)
	l.window.Pass(r.Offset)
	s.lazy = true
	if l.shared {
		return
	}
	l.shared = true
	s.e.cfg.Logger.WarnContext(s.base, "a retry topic has records of another pipeline; they are left to it, and the topic is no longer purged; "+
		"give each pipeline a tier prefix of its own (topics.tier_prefix)",
		"topic", l.topic, "partition", l.partition, "offset", r.Offset, "pipeline", header.Clip(topics.WriterOf(r), 80), "own_pipeline", s.e.cfg.Origin.Pipeline)
}

// noteShared adds the retry topics of a partition in which records of another pipeline were found. A topic stays in the
// list: records before the committed position may still wait for the other pipeline.
func noteShared(cp *statetopic.Checkpoint, partitions map[topicPartition]*partition, sh *partitionState) {
	for tp, l := range partitions {
		if l.state == sh && l.shared && !slices.Contains(cp.Shared, tp.topic) && len(cp.Shared) < statetopic.MaxPositions {
			cp.Shared = append(slices.Clone(cp.Shared), tp.topic)
		}
	}
	slices.Sort(cp.Shared)
}
