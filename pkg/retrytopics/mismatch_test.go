package retrytopics

import (
	"reflect"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

func id(n byte) statetopic.TopicID { return statetopic.TopicID{n} }

func sample() *statetopic.Checkpoint {
	return &statetopic.Checkpoint{
		Group: "g", Source: "features", Generation: 2, Same: 1, Ledger: id(9), LedgerFrom: 17, Scale: "1a2b3c4d", ScaleFrom: 5,
		Positions: map[string]statetopic.Position{
			"features":          {ID: id(1), Commit: offsets.Commit{Offset: 42, Metadata: offsets.EncodeFinished(42, []offsets.Span{{First: 44, Last: 50}})}},
			"features.retry-2s": {ID: id(2), Commit: offsets.Commit{Offset: 7, Metadata: ""}},
			"features.retry-8s": {ID: id(3), Commit: offsets.Commit{Offset: -1}},
		},
	}
}

func around() expectedTopics {
	return expectedTopics{
		scale: "1a2b3c4d",
		group: "g", source: "features", state: "features.state", ledger: "features.ledger",
		ids: map[string]statetopic.TopicID{"features": id(1), "features.retry-2s": id(2), "features.retry-8s": id(3), "features.ledger": id(9)},
	}
}

func TestMismatches_S4_14(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known  evidence
		change func(*expectedTopics)
		want   []MismatchKind
	}{
		"nothing at all":                       {evidence{}, nil, nil},
		"the memory fits":                      {evidence{checkpoint: sample()}, nil, nil},
		"it fits, the commits are there":       {evidence{checkpoint: sample(), committed: true, sealed: true, remembers: true}, nil, nil},
		"no checkpoint, with commits":          {evidence{committed: true, remembers: true}, nil, nil},
		"no checkpoint, commits gone":          {evidence{remembers: true}, nil, []MismatchKind{MismatchUnbound}},
		"a tier's commit alone binds nothing":  {evidence{remembers: true, committed: false}, nil, []MismatchKind{MismatchUnbound}},
		"the state is gone":                    {evidence{sealed: true, committed: true}, nil, []MismatchKind{MismatchState}},
		"the state is gone, the ledger is not": {evidence{sealed: true, remembers: true}, nil, []MismatchKind{MismatchState}},
		"another source":                       {evidence{checkpoint: sample()}, func(s *expectedTopics) { s.ids["features"] = id(8) }, []MismatchKind{MismatchSource}},
		"another source, old commits there":    {evidence{checkpoint: sample(), committed: true}, func(s *expectedTopics) { s.ids["features"] = id(8) }, []MismatchKind{MismatchSource}},
		"another tier":                         {evidence{checkpoint: sample()}, func(s *expectedTopics) { s.ids["features.retry-2s"] = id(8) }, []MismatchKind{MismatchTier}},
		"another ledger":                       {evidence{checkpoint: sample()}, func(s *expectedTopics) { s.ids["features.ledger"] = id(8) }, []MismatchKind{MismatchLedger}},
		"another ledger, but no dedupe":        {evidence{checkpoint: sample()}, func(s *expectedTopics) { s.ids["features.ledger"], s.ledger = id(8), "" }, nil},
		"another group":                        {evidence{checkpoint: sample()}, func(s *expectedTopics) { s.group = "h" }, []MismatchKind{MismatchGroup}},
		"a tier that is not configured":        {evidence{checkpoint: sample()}, func(s *expectedTopics) { delete(s.ids, "features.retry-8s") }, nil},
		"brokers without topic ids":            {evidence{checkpoint: sample()}, func(s *expectedTopics) { s.ids["features"] = statetopic.TopicID{} }, nil},
		"another cluster": {evidence{checkpoint: sample()}, func(s *expectedTopics) {
			s.ids = map[string]statetopic.TopicID{"features": id(11), "features.retry-2s": id(12), "features.retry-8s": id(13), "features.ledger": id(19)}
		}, []MismatchKind{MismatchSource, MismatchTier, MismatchTier, MismatchLedger}},
	} {
		t.Run(name, func(t *testing.T) {
			now := around()
			if c.change != nil {
				c.change(&now)
			}
			var got []MismatchKind
			all := now.mismatches(c.known)
			for _, m := range all {
				got = append(got, m.Kind)
			}
			must.That(t, reflect.DeepEqual(got, c.want), "got %v, want %v", got, c.want)
			text := (&memoryError{3, all}).Error()
			expect.That(t, strings.Contains(text, "topics adopt -c") && strings.Contains(text, "partition 3"), "the error: %s", text)
		})
	}
}

// S0-6: the scale of the ledger's versions changes when they are written on another one, which nothing does without a ledger.
func TestNext_S0_6_theScaleIsThatOfTheLedger(t *testing.T) {
	t.Parallel()
	now := around()
	now.scale = "5e6f7a8b"
	next := now.next(sample(), nil)
	expect.That(t, next.Scale == "5e6f7a8b" && next.ScaleFrom == 5, "with a ledger: %+v", next)
	now.ledger = ""
	next = now.next(sample(), nil)
	expect.That(t, next.Scale == "1a2b3c4d" && next.ScaleFrom == 5, "without one: %+v", next)
}

func TestNext_S4_14_carriesWhatDoesNotMove(t *testing.T) {
	t.Parallel()
	now := around()
	delete(now.ids, "features.retry-8s") // not configured any more
	next := now.next(sample(), map[string]offsets.Commit{"features": {Offset: 50, Metadata: ""}})
	want := sample()
	want.Positions["features"] = statetopic.Position{ID: id(1), Commit: offsets.Commit{Offset: 50, Metadata: ""}}
	expect.That(t, reflect.DeepEqual(next, want), "got %+v, want %+v", next, want)
	first := now.next(nil, map[string]offsets.Commit{"features.retry-2s": {Offset: 3, Metadata: ""}})
	expect.That(t, first.Positions["features"] == (statetopic.Position{ID: id(1), Commit: offsets.Commit{Offset: -1}}) && first.Positions["features.retry-2s"] == (statetopic.Position{ID: id(2), Commit: offsets.Commit{Offset: 3, Metadata: ""}}),
		"the first one: %+v", first)
}

func TestAdopt_S4_14_whatBecomesOfTheCheckpoint(t *testing.T) {
	t.Parallel()
	now := around()
	now.ids["features"] = id(8)
	source := now.adopt(sample(), []Mismatch{{Kind: MismatchSource}}, nil, committedGeneration{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, source.Generation == 3 && source.LedgerFrom == 100 && source.Positions["features"] == (statetopic.Position{ID: id(8), Commit: offsets.Commit{Offset: -1}}) && source.Positions["features.retry-2s"].Commit.Offset == 7,
		"source: %+v", source)
	now = around()
	now.ids["features.retry-2s"] = id(8)
	tier := now.adopt(sample(), []Mismatch{{Kind: MismatchTier}}, nil, committedGeneration{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, tier.Generation == 2 && tier.LedgerFrom == 17 && tier.Positions["features.retry-2s"] == (statetopic.Position{ID: id(8), Commit: offsets.Commit{Offset: -1}}) && tier.Positions["features"] == sample().Positions["features"],
		"tier: %+v", tier)
	now = around()
	now.ids["features.ledger"] = id(8)
	ledger := now.adopt(sample(), []Mismatch{{Kind: MismatchLedger}}, nil, committedGeneration{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, ledger.Ledger == id(8) && ledger.LedgerFrom == 0 && ledger.Generation == 2, "ledger: %+v", ledger)
	now = around()
	now.group = "h"
	group := now.adopt(sample(), []Mismatch{{Kind: MismatchGroup}}, nil, committedGeneration{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, group.Group == "h" && group.Generation == 2 && group.Positions["features"] == sample().Positions["features"], "group: %+v", group)
	state := around().adopt(nil, []Mismatch{{Kind: MismatchState}}, map[string]offsets.Commit{"features": {Offset: 42, Metadata: ""}}, committedGeneration{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, state.Generation == 3 && state.Positions["features"] == (statetopic.Position{ID: id(1), Commit: offsets.Commit{Offset: 42, Metadata: ""}}), "state: %+v", state)
	expect.That(t, state.Same == 0, "without a commit of the source it is not known to be the Same: %+v", state)
	again := around().adopt(nil, []Mismatch{{Kind: MismatchState}}, map[string]offsets.Commit{"features": {Offset: 42, Metadata: ""}}, committedGeneration{offsets.Generations{Now: 2, Same: 1}, true}, 100)
	expect.That(t, again.Generation == 3 && again.Same == 2, "the source stayed: %+v", again)
	tier = now.adopt(again, []Mismatch{{Kind: MismatchTier}}, nil, committedGeneration{}, 100)
	expect.That(t, tier.Generation == 3 && tier.Same == 2, "a lost tier: %+v", tier)
	source = now.adopt(again, []Mismatch{{Kind: MismatchSource}}, nil, committedGeneration{offsets.Generations{Now: 3, Same: 2}, true}, 100)
	expect.That(t, source.Generation == 4 && source.Same == 0, "another source: %+v", source)
	unbound := around().adopt(nil, []Mismatch{{Kind: MismatchUnbound}}, nil, committedGeneration{Generations: offsets.Generations{Now: 0}}, 100)
	expect.That(t, unbound.Generation == 1 && unbound.LedgerFrom == 100 && unbound.Positions["features"].Commit.Offset == -1, "unbound: %+v", unbound)
}

// An event of a later topic is newer than every one of the topic before, whatever its offset.
func TestPlaced_S3_1_generationsOrderOffsets(t *testing.T) {
	t.Parallel()
	expect.That(t, (header.Version{Offset: header.VersionPosition(0, 1<<40)}).Less(header.Version{Offset: header.VersionPosition(1, 0)}) && (header.Version{Offset: header.VersionPosition(1, 3)}).Less(header.Version{Offset: header.VersionPosition(1, 4)}),
		"an older event counts as newer")
	expect.That(t, header.VersionPosition(offsets.MaxGeneration, 1<<48-1) >= 0, "the last generation overflows")
}
