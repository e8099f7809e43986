package retrytopics

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// A topic has only one use: a configuration that uses it twice is refused.
func TestConfig_aTopicHasOneUse(t *testing.T) {
	for name, c := range map[string]Config{
		"state = DLQ":    {DLQ: "in.dlq", Ordering: Ordering{StateTopic: "in.dlq"}},
		"state = source": {Ordering: Ordering{StateTopic: "in"}},
		"ledger = state": {Dedupe: Dedupe{Window: time.Hour, LedgerTopic: "in.x"}, Ordering: Ordering{StateTopic: "in.x"}},
	} {
		c.Brokers, c.Source, c.Group, c.Handler = []string{"localhost:9"}, "in", "g", func(context.Context, *Record) (Result, error) { return Result{}, nil }
		_, err := c.Complete()
		expect.That(t, err != nil, "%s: accepted", name)
	}
}

// The errors about a configuration name only fields that exist.
func TestConfig_faultsNameFields(t *testing.T) {
	path := regexp.MustCompile(`(?m)(?:^| )([A-Z]\w*(?:\.[A-Z]\w*)+)`)
	faulty := Config{
		Source: "in", DLQ: "in", Delivery: "never", Unknown: "new",
		Ordering: Ordering{Mode: "some", OnDeadLetter: "wait", StateTopic: "in", Versions: Versions{Keep: "long", MaxKeys: -1}},
		Dedupe:   Dedupe{Window: time.Hour, MaxKeys: -1, LedgerTopic: "in"},
		Journal:  Journal{HashChain: HashChain{HeadTopic: "in"}},
		Limits:   Limits{Concurrency: -1, HeldRecords: -1, RecordBytes: 1}, Timing: Timing{Commit: -1},
		Retries: Retries{Classify: func(error) classify.Failure { return classify.Failure{} }, Tiers: []policy.Tier{{Delay: -1}}},
	}
	_, err := faulty.Complete()
	must.That(t, err != nil, "the configuration is accepted")
	named := path.FindAllStringSubmatch(err.Error(), -1)
	expect.That(t, len(named) > 12, "few fields are named: %v", named)
	for _, found := range named {
		field := found[1]
		at := reflect.TypeFor[Config]()
		for name := range strings.SplitSeq(field, ".") {
			f, is := at.FieldByName(name)
			if !is {
				t.Errorf("the errors name %s, and %s has no field %s:\n%v", field, at, name, err)
				break
			}
			at = f.Type
		}
	}
}

// A program may complete a configuration, to see its faults or its defaults, and run it then.
func TestConfig_aCompleteOneStaysAsItIs(t *testing.T) {
	once := must.Get(Config{
		Brokers: []string{"localhost:9"}, Source: "in", Group: "g", Membership: Membership{Instance: "i"}, Unknown: classify.Permanent,
		Handler: func(context.Context, *Record) (Result, error) { return Result{}, nil },
	}.Complete())(t)
	twice := must.Get(once.Complete())(t)
	expect.That(t, twice.DLQ == "in.dlq" && twice.Unknown == classify.Permanent && twice.Retries.Classify(errors.New("x")).Class == classify.Permanent, "%+v", twice)
	once.Group = ""
	_, err := once.Complete()
	expect.That(t, err != nil, "a fault that came later is accepted")
}
