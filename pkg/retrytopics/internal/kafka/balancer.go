package kafka

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Balancer assigns partitions by their number: partition p of the source and of every tier go to one member together. It
// is cooperative and sticky: a rebalance moves as few partitions as an even spread allows, and does not stop the others.
// (Kafka's cooperative-sticky balancer would spread the partitions of one number over members; its range balancer keeps
// them together but stops every member.)
type Balancer struct {
	Source     string                   // topic
	Announce   func() []byte            // what the members tell the leader about themselves; nil for nothing
	OnAssigned func(map[string][]int32) // receives this member's whole assignment
}

// ProtocolName returns the name of the balancer, which must be the same in all members of the group.
func (Balancer) ProtocolName() string { return "switchback-copartition" }

// IsCooperative returns true: members keep what they own during a rebalance.
func (Balancer) IsCooperative() bool { return true }

// JoinGroupMetadata returns what this member tells the leader: the topics that it wants, and the partitions that it
// owns.
func (s Balancer) JoinGroupMetadata(interests []string, owned map[string][]int32, generation int32) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version = 3
	meta.Topics = slices.Sorted(slices.Values(interests))
	meta.Generation = generation
	if s.Announce != nil {
		meta.UserData = s.Announce()
	}
	for _, topic := range slices.Sorted(maps.Keys(owned)) {
		o := kmsg.NewConsumerMemberMetadataOwnedPartition()
		o.Topic, o.Partitions = topic, owned[topic]
		meta.OwnedPartitions = append(meta.OwnedPartitions, o)
	}
	return meta.AppendTo(nil)
}

// ParseSyncAssignment parses the leader's assignment, without the partitions whose source partition another member has.
func (s Balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	assigned, err := kgo.ParseConsumerSyncAssignment(assignment)
	if err != nil {
		return nil, err
	}
	assigned = coPartitioned(assigned, s.Source)
	s.OnAssigned(maps.Clone(assigned))
	return assigned, nil
}

// MemberBalancer prepares a balance of the given members.
func (s Balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	b, err := kgo.NewConsumerBalancer(s, members)
	return b, b.MemberTopics(), err
}

// Balance makes the leader's plan. A partition that changes its owner is first revoked, and assigned in the following
// rebalance, as the cooperative protocol requires.
func (s Balancer) Balance(b *kgo.ConsumerBalancer, partitions map[string]int32) kgo.IntoSyncAssignment {
	var members []balancedMember
	b.EachMember(func(m *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		if !slices.Contains(meta.Topics, s.Source) {
			return
		}
		sm := balancedMember{generation: meta.Generation}
		for _, o := range meta.OwnedPartitions {
			if o.Topic == s.Source {
				sm.owned = o.Partitions
			}
		}
		sm.give = func(p *kgo.BalancePlan, partition int32) {
			for _, topic := range meta.Topics {
				if partition < partitions[topic] {
					p.AddPartition(m, topic, partition)
				}
			}
		}
		members = append(members, sm)
	})
	plan := b.NewPlan()
	for i, own := range spread(members, partitions[s.Source]) {
		for _, partition := range own {
			members[i].give(plan, partition)
		}
	}
	plan.AdjustCooperative(b)
	return plan
}

// balancedMember is one member in the input of spread.
type balancedMember struct {
	generation int32
	owned      []int32 // partitions
	give       func(*kgo.BalancePlan, int32)
}

// spread divides n partitions evenly over the members: no two members differ by more than one partition, and as many
// partitions as possible stay where they are. It is pure; the result has the partitions of each member, ascending.
func spread(members []balancedMember, n int32) [][]int32 {
	if len(members) == 0 {
		return nil
	}
	out := keepOwned(members, n)
	free := make([]int32, 0, n)
	taken := make([]bool, n)
	for _, own := range out {
		for _, partition := range own {
			taken[partition] = true
		}
	}
	for partition := range n {
		if !taken[partition] {
			free = append(free, partition)
		}
	}
	for _, partition := range free {
		least := 0
		for i := range out {
			if len(out[i]) < len(out[least]) {
				least = i
			}
		}
		out[least] = append(out[least], partition)
	}
	for i := range out {
		slices.Sort(out[i])
	}
	return out
}

// keepOwned lets each member keep what it owns, up to its fair share. If two members claim one partition, the one with
// the later generation owns it.
func keepOwned(members []balancedMember, n int32) [][]int32 {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	// Members that own more come first, so that they get the shares that are one larger.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(members[b].generation, members[a].generation), cmp.Compare(len(members[b].owned), len(members[a].owned)))
	})
	share, larger := int(n)/len(members), int(n)%len(members)
	out := make([][]int32, len(members))
	claimed := make([]bool, n)
	for _, i := range order {
		limit := share
		if larger > 0 && len(members[i].owned) > share {
			limit++
			larger--
		}
		for _, partition := range members[i].owned {
			if partition < 0 || partition >= n || claimed[partition] || len(out[i]) == limit {
				continue
			}
			claimed[partition] = true
			out[i] = append(out[i], partition)
		}
	}
	return out
}

// coPartitioned removes the partitions whose source partition belongs to another member.
func coPartitioned(assigned map[string][]int32, source string) map[string][]int32 {
	whole := map[string][]int32{}
	for topic, partitions := range assigned {
		own := slices.DeleteFunc(slices.Clone(partitions), func(p int32) bool { return !slices.Contains(assigned[source], p) })
		if len(own) > 0 {
			whole[topic] = own
		}
	}
	return whole
}

// Lacking returns a topic whose partition is missing in the assignment although the source's partition of that number is
// there, or "". partitions has the count of each consumed topic.
func Lacking(assigned map[string][]int32, source string, partitions map[string]int) string {
	for _, topic := range slices.Sorted(maps.Keys(partitions)) {
		for _, p := range assigned[source] {
			if int(p) < partitions[topic] && !slices.Contains(assigned[topic], p) {
				return topic
			}
		}
	}
	return ""
}
