package topics

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// broker gives an admin client of a broker of its own.
func broker(t *testing.T, opts ...kfake.Opt) *kadm.Client {
	t.Helper()
	_, admin := brokerOf(t, opts...)
	return admin
}

// brokerOf gives the cluster too, for tests in which it refuses something.
func brokerOf(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *kadm.Client) {
	t.Helper()
	cluster := fakekafka.Start(t, opts...)
	client := fakekafka.Client(t, cluster)
	return cluster, kadm.NewClient(client)
}

func create1(t *testing.T, admin *kadm.Client, topic string, partitions int32, settings map[string]string) {
	t.Helper()
	configs := map[string]*string{}
	for key, value := range settings {
		configs[key] = &value
	}
	must.Get(admin.CreateTopic(t.Context(), partitions, 1, configs, topic))(t)
}

func ensure(t *testing.T, admin *kadm.Client, plan []Topic) Report {
	t.Helper()
	return must.Get(Ensure(t.Context(), admin, plan))(t)
}

func check(t *testing.T, admin *kadm.Client, plan []Topic) []Fault {
	t.Helper()
	return must.Get(Check(t.Context(), admin, plan))(t)
}

func TestEnsure(t *testing.T) {
	t.Run("C-6_creates_all_and_check_is_content", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		faults := check(t, admin, plan)
		must.That(t, len(faults) == len(plan), "on an empty broker %d of %d topics are missing: %v", len(faults), len(plan), faults)
		first := ensure(t, admin, plan)
		expect.That(t, slices.Equal(first.Created, plan) && len(first.Existing) == 0 && len(first.Faults) == 0, "first time:\n%s", first)
		faults = check(t, admin, plan)
		expect.That(t, len(faults) == 0, "check after ensure: %v", faults)
		second := ensure(t, admin, plan)
		expect.That(t, len(second.Created) == 0 && slices.Equal(second.Existing, plan) && len(second.Faults) == 0, "second time:\n%s", second)
	})
	t.Run("C-6_count_and_size_of_an_existing_source_rule", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		create1(t, admin, "features", 5, map[string]string{"max.message.bytes": "12582912"})
		report := ensure(t, admin, plan)
		must.That(t, len(report.Created) == len(plan)-1 && len(report.Existing) == 1 && report.Existing[0].Partitions == 5 && len(report.Faults) == 0,
			"report:\n%s", report)
		seen := must.Get(observe(t.Context(), admin, plan))(t)
		for _, topic := range plan {
			have := seen[topic.Name]
			expect.That(t, (!topic.Shared || have.partitions == 5) && (topic.Role != RoleControl || have.partitions == 1),
				"%s has %d partitions", topic.Name, have.partitions)
			if topic.Headroom > 0 && have.maxMessage() != 12599296 {
				t.Errorf("%s takes %d bytes", topic.Name, have.maxMessage())
			}
		}
	})
	t.Run("C-6_changes_nothing_that_exists_but_says_what_differs", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		create1(t, admin, "features", 3, nil)
		create1(t, admin, "features.dlq", 2, map[string]string{"retention.ms": "1000"})
		report := ensure(t, admin, plan)
		if len(report.Faults) != 3 { // partitions, retention.ms, max.message.bytes
			t.Errorf("report:\n%s", report)
		}
		for _, part := range []string{"created  features.retry-2s (tier): 3 partitions", "existing features.dlq (dlq): 2 partitions", "differs  features.dlq (dlq): retention.ms is 1000"} {
			expect.That(t, strings.Contains(report.String(), part), "the report does not say %q:\n%s", part, report)
		}
		seen := must.Get(observe(t.Context(), admin, plan))(t)
		dlq := seen["features.dlq"]
		expect.That(t, dlq.partitions == 2 && dlq.settings["retention.ms"] == "1000", "the DLQ was changed: %+v", dlq)
	})
	t.Run("a_topic_that_cannot_be_created_is_named", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		plan[1].Replication = 3 // of one broker
		report, err := Ensure(t.Context(), admin, plan)
		expect.That(t, err != nil && strings.Contains(err.Error(), "features.retry-2s") && !strings.Contains(err.Error(), "\n"), "got %v", err)
		expect.That(t, len(report.Created) == len(plan)-1, "the others were not created:\n%s", report)
	})
}

// TestCheck_creates_nothing proves that looking does not make topics, not even on a broker that creates them by itself.
func TestCheck_creates_nothing(t *testing.T) {
	admin, plan := broker(t, kfake.AllowAutoTopicCreation()), Plan(parse(t, pipeline))
	check(t, admin, plan)
	listed, err := admin.ListTopics(kadm.WithAuthorizedOps(t.Context()))
	if err != nil || len(listed) != 0 {
		t.Errorf("after check there are %v, %v", listed.Names(), err)
	}
}

// A refusal of the cluster is an error with the name of the topic.
func TestEnsure_S4_15_namesTheTopicWhoseSettingsAreRefused(t *testing.T) {
	cluster, admin := brokerOf(t)
	plan := Plan(parse(t, pipeline))
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: plan[2].Name, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := Ensure(t.Context(), admin, plan)
	denied, ok := errors.AsType[*retrytopics.DeniedError](err)
	expect.That(t, ok && denied.Operation == "DescribeConfigs" && denied.Resource == "topic "+plan[2].Name, "%v", err)
}
