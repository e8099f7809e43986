package topics

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// S3-1: a topic is a tier by its name alone, and only by a name that a tier can have.
func TestDelay_S3_1_isTheInverseOfTierTopic(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{time.Millisecond, 1500 * time.Millisecond, time.Second, time.Minute, 90 * time.Second, 5 * time.Minute, 36 * time.Hour} {
		got, ok := Delay("a.retry-", policy.TierTopic("a.retry-", delay))
		expect.That(t, ok && got == delay, "Delay(%s) = %v, %v", policy.TierTopic("a.retry-", delay), got, ok)
	}
	for _, topic := range []string{"a", "a.retry-", "a.retry-2", "a.retry-2s.dlq", "a.retry--2s", "a.retry-0s", "a.retry-s", "b.retry-2s", "a.retry-.5s", "a.retry-2d"} {
		delay, ok := Delay("a.retry-", topic)
		expect.That(t, !ok, "%s is accepted as a tier of %v", topic, delay)
	}
}

func FuzzDelay(f *testing.F) {
	f.Add("a.retry-", "2s")
	f.Add("", "1h")
	f.Fuzz(func(t *testing.T, prefix, suffix string) {
		delay, ok := Delay(prefix, prefix+suffix)
		expect.That(t, !ok || delay > 0, "%q: %v", prefix+suffix, delay)
	})
}

func TestFormerAmong_S3_1_areThoseThatNobodyNames(t *testing.T) {
	t.Parallel()
	details := kadm.TopicDetails{}
	for name, partitions := range map[string]int{"a": 3, "a.retry-1s": 3, "a.retry-9s": 3, "a.retry-4s": 2, "a.retry-5s": 3, "a.dlq": 3, "a.retry-7s": 0, "b.retry-4s": 3} {
		d := kadm.TopicDetail{Topic: name, Partitions: kadm.PartitionDetails{}}
		for p := range partitions {
			d.Partitions[int32(p)] = kadm.PartitionDetail{}
		}
		details[name] = d
	}
	details["a.retry-3s"] = kadm.TopicDetail{Topic: "a.retry-3s", Err: kerr.TopicAuthorizationFailed}
	got := FormerAmong("a.retry-", []string{"a.retry-1s", "a.retry-5s"}, details)
	want := []Former{{Tier: policy.Tier{Topic: "a.retry-4s", Delay: 4 * time.Second}, Partitions: 2}, {Tier: policy.Tier{Topic: "a.retry-9s", Delay: 9 * time.Second}, Partitions: 3}}
	expect.That(t, slices.Equal(got, want), "got %v, want %v", got, want)
}
