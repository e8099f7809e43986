package judge

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// losses checks that each record that retention deleted was either read before, or is reported as lost by an engine,
// once, and that nothing else is reported as lost. Records that are lost legitimately leave the history, because
// nothing is expected of them. Deleted records that were read are part of the log.
func (h *history) losses() {
	reported := h.reportedLosses()
	taken := map[string]bool{}
	for _, r := range h.Logs[h.Topics.Journal] {
		if s, err := journal.Parse(r); err == nil {
			taken[s.Position] = true
		}
	}
	log := slices.Clone(h.Logs[h.Topics.Source])
	known := map[string]bool{}
	for _, r := range log {
		known[topiclog.Position(r)] = true
	}
	missed := map[int]int64{} // by index of reported: records that no engine read
	for _, r := range h.Pruned {
		at := topiclog.Position(r)
		if known[at] {
			continue // the brokers still have it, or two deletions overlapped
		}
		known[at] = true
		in := slices.IndexFunc(reported, func(l retrytopics.Loss) bool {
			return l.Partition == r.Partition && l.From <= r.Offset && r.Offset < l.To
		})
		switch {
		case taken[at]:
			log = append(log, r)
		case in >= 0:
			missed[in]++
			h.lost[at] = r
		case r.Offset < h.Epoch*Stride: // deleted with its topic before an engine read it
			h.lost[at] = r
		case h.Rest >= 0:
			h.report(Conservation, at, "it was deleted before it was read, and no engine reported it as lost")
		}
	}
	for _, r := range h.Deleted {
		switch at := topiclog.Position(r); {
		case known[at]:
		case taken[at]:
			log, known[at] = append(log, r), true
		default:
			h.lost[at], known[at] = r, true
		}
	}
	for i, l := range reported {
		h.counted(l, missed[i], taken)
	}
	slices.SortFunc(log, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	h.Logs = maps.Clone(h.Logs)
	h.Logs[h.Topics.Source] = log
}

// adopted reports whether a record marks the adoption of a re-created source.
func adopted(r *kgo.Record) bool {
	_, n := topiclog.Header(r, HeaderAdopted)
	return n > 0
}

// counted checks that a loss counts every unread record, and no record that was read. Between them are transaction
// markers and aborted records, which the engine cannot distinguish from records.
func (h *history) counted(l retrytopics.Loss, missed int64, taken map[string]bool) {
	limit := l.To - l.From
	for offset := l.From; offset < l.To; offset++ {
		if taken[header.Position{Topic: l.Topic, Partition: l.Partition, Offset: offset}.String()] {
			limit--
		}
	}
	if l.Records < missed || l.Records > limit {
		h.report(Conservation, "", "an engine reports that %d records of partition %d, from %d to %d, are lost; %d to %d are", l.Records, l.Partition, l.From, l.To-1, missed, limit)
	}
}

// reportedLosses returns the losses that the engines reported for the source. Overlapping losses are a fault, because
// each loss is reported once.
func (h *history) reportedLosses() (reported []retrytopics.Loss) {
	end, moved := map[int32]int64{}, map[int32]int64{}
	for _, r := range h.Logs[h.Topics.Losses] {
		if adopted(r) {
			moved[r.Partition] += Stride
			continue
		}
		var l retrytopics.Loss
		if err := json.Unmarshal(r.Value, &l); err != nil {
			h.report(Conservation, "", "the loss at %s: %v", topiclog.Position(r), err)
			continue
		}
		if l.Topic != h.Topics.Source {
			h.report(Conservation, "", "an engine reported %d lost records of %s, where nothing was deleted: %+v", l.Records, l.Topic, l)
			continue
		}
		l.From, l.To = l.From+moved[r.Partition], l.To+moved[r.Partition]
		if l.From < end[l.Partition] {
			h.report(ExactlyOnce, "", "partition %d is reported as lost twice from %d", l.Partition, l.From)
		}
		end[l.Partition] = max(end[l.Partition], l.To)
		reported = append(reported, l)
	}
	return reported
}
