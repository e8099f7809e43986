package judge

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// Link is a link of the hash chain of a partition. Each transaction writes one over its steps.
type Link struct {
	Number int      `json:"number"` // from 1
	Before string   `json:"before"` // hash of the previous link; "" of the first
	Steps  []string `json:"steps"`  // "<where it was read> <decision>", in their order
}

// Hash returns the hash of a link.
func (l Link) Hash() string {
	h := fnv.New64a()
	fmt.Fprint(h, l.Number, l.Before, l.Steps)
	return fmt.Sprintf("%016x", h.Sum64())
}

// Step returns the text of a step in a link.
func Step(position, decision string) string { return position + " " + decision }

// trail checks that the chain of each partition has no gap and no fork, and that its links have the steps of the journal
// in their order.
func (h *history) trail() {
	last := map[int32]Link{}
	linked := map[int32][]string{}
	for _, r := range h.Logs[h.Topics.Trail] {
		var link Link
		if err := json.Unmarshal(r.Value, &link); err != nil {
			h.report(ExactlyOnce, "", "trail of partition %d at offset %d: %v", r.Partition, r.Offset, err)
			return
		}
		before := last[r.Partition]
		if link.Number != before.Number+1 || link.Number > 1 && link.Before != before.Hash() {
			h.report(ExactlyOnce, "", "trail of partition %d: link %d follows link %d (%s)", r.Partition, link.Number, before.Number, link.Before)
		}
		last[r.Partition] = link
		linked[r.Partition] = append(linked[r.Partition], link.Steps...)
	}
	for _, s := range h.steps {
		partition := s.in.record.Partition
		want := Step(s.Position, s.Decision)
		if len(linked[partition]) == 0 || linked[partition][0] != want {
			h.report(ExactlyOnce, s.Source, "trail of partition %d: the journal has the step %q there, the trail %q", partition, want, head(linked[partition]))
			return
		}
		linked[partition] = linked[partition][1:]
	}
}

func head(steps []string) string {
	if len(steps) == 0 {
		return ""
	}
	return steps[0]
}
