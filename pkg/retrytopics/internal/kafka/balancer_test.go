package kafka

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestSpreadIsEvenAndMovesLittle(t *testing.T) {
	t.Parallel()
	owned := func(lists ...[]int32) (members []balancedMember) {
		for _, l := range lists {
			members = append(members, balancedMember{owned: l, generation: 1})
		}
		return members
	}
	for _, c := range []struct {
		name    string
		members []balancedMember
		n       int32
		want    [][]int32
	}{
		{"nobody owns anything", owned(nil, nil), 5, [][]int32{{0, 2, 4}, {1, 3}}},
		{"a third member joins", owned([]int32{0, 1, 2}, []int32{3, 4, 5}, nil), 6, [][]int32{{0, 1}, {3, 4}, {2, 5}}},
		{"a member leaves", owned([]int32{0, 1}, []int32{3, 4}), 6, [][]int32{{0, 1, 2}, {3, 4, 5}}},
		{"nothing to fix", owned([]int32{1}, []int32{0, 2}), 3, [][]int32{{1}, {0, 2}}},
		{"more members than partitions", owned([]int32{0}, nil, nil), 1, [][]int32{{0}, nil, nil}},
		{"the topic has grown", owned([]int32{0}, []int32{1}), 4, [][]int32{{0, 2}, {1, 3}}},
	} {
		got := spread(c.members, c.n)
		expect.That(t, reflect.DeepEqual(got, c.want), "%v: got %v, want %v", c.name, got, c.want)
	}
}

func TestSpreadOfTwoClaimsTheLaterGenerationIsRight(t *testing.T) {
	t.Parallel()
	got := spread([]balancedMember{{owned: []int32{0, 1}, generation: 3}, {owned: []int32{0, 1}, generation: 7}}, 4)
	want := [][]int32{{2, 3}, {0, 1}}
	expect.That(t, reflect.DeepEqual(got, want), "got %v, want %v", got, want)
}

func TestSpreadGivesEveryShardOnceAndEvenly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		n := int32(rnd.IntN(50))
		members := make([]balancedMember, 1+rnd.IntN(8))
		for range rnd.IntN(80) {
			m := &members[rnd.IntN(len(members))]
			m.owned = append(m.owned, int32(rnd.IntN(60)))
		}
		seen := map[int32]int{}
		least, most := int(n), 0
		for _, own := range spread(members, n) {
			least, most = min(least, len(own)), max(most, len(own))
			for _, s := range own {
				seen[s]++
			}
		}
		if len(seen) != int(n) || most-least > 1 {
			t.Fatal(fmt.Sprintf("seed %d: %d of %d partitions, between %d and %d a member", seed, len(seen), n, least, most))
		}
	}
}

// S0-4: nothing is consumed from a partition that another member owns, and nothing of an own one is left out.
func TestCoPartitioned_S0_4(t *testing.T) {
	t.Parallel()
	counts := map[string]int{"src": 4, "r1": 4, "r5": 4, "old": 2}
	for _, c := range []struct {
		name           string
		assigned, want map[string][]int32
		lacks          string
	}{
		{"whole", map[string][]int32{"src": {0, 3}, "r1": {0, 3}, "r5": {0, 3}, "old": {0}}, map[string][]int32{"src": {0, 3}, "r1": {0, 3}, "r5": {0, 3}, "old": {0}}, ""},
		{"a tier before its source", map[string][]int32{"src": {0}, "r1": {0}, "r5": {0, 1}, "old": {0, 1}}, map[string][]int32{"src": {0}, "r1": {0}, "r5": {0}, "old": {0}}, ""},
		{"only tiers", map[string][]int32{"r5": {0, 1}}, map[string][]int32{}, ""},
		{"a tier is missing", map[string][]int32{"src": {0, 1}, "r1": {0, 1}, "r5": {1}, "old": {0, 1}}, map[string][]int32{"src": {0, 1}, "r1": {0, 1}, "r5": {1}, "old": {0, 1}}, "r5"},
		{"a former tier is missing", map[string][]int32{"src": {1, 2}, "r1": {1, 2}, "r5": {1, 2}}, map[string][]int32{"src": {1, 2}, "r1": {1, 2}, "r5": {1, 2}}, "old"},
		{"nothing", map[string][]int32{}, map[string][]int32{}, ""},
	} {
		got := coPartitioned(c.assigned, "src")
		expect.That(t, maps.EqualFunc(got, c.want, slices.Equal), "%s: %v, want %v", c.name, got, c.want)
		expect.Equal(t, Lacking(got, "src", counts), c.lacks, c.name, "lacks")
	}
}
