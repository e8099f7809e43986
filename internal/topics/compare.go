package topics

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// observed is the broker's state of a topic.
type observed struct {
	partitions int32
	settings   map[string]string
}

// comparison has the topics with which a plan is compared.
type comparison struct {
	seen      map[string]observed // by topic name; a missing one does not exist
	bootstrap string              // for the commands
	source    Topic
}

// compare returns every fault of the plan's topics, in the order of the plan. It is pure.
func compare(plan []Topic, seen map[string]observed, bootstrap string) []Fault {
	c := comparison{seen: seen, bootstrap: bootstrap, source: sourceOf(plan)}
	var faults []Fault
	for _, t := range plan {
		have, exists := seen[t.Name]
		if !exists {
			faults = append(faults, c.missing(t))
			continue
		}
		for _, check := range []func(Topic, observed) (Fault, bool){c.partitions, c.cleanup, c.retention, c.retentionBytes, c.maxMessage, c.compression, c.segment} {
			if fault, bad := check(t, have); bad {
				fault.Topic, fault.Role = t.Name, t.Role
				faults = append(faults, fault)
			}
		}
	}
	return faults
}

func (c comparison) missing(t Topic) Fault {
	return Fault{
		Topic: t.Name, Role: t.Role, Kind: FaultMissing,
		Message: "the topic does not exist",
		Fix:     "run: consumer topics ensure",
	}
}

// wantPartitions returns the partition count that t must have; 0 if any is allowed.
func (c comparison) wantPartitions(t Topic) int32 {
	source, exists := c.seen[c.source.Name]
	switch {
	case t.Role == RoleControl:
		return 1
	case !t.Shared:
		return 0
	case exists:
		return source.partitions
	default:
		return c.source.Partitions
	}
}

func (c comparison) partitions(t Topic, have observed) (Fault, bool) {
	want := c.wantPartitions(t)
	if want == 0 || have.partitions == want {
		return Fault{}, false
	}
	fault := Fault{Kind: FaultPartitions}
	fault.Message = fmt.Sprintf("%s, but the source %s has %d, and a record keeps its partition number everywhere", count(have.partitions), c.source.Name, want)
	grow := func(topic string, n int32) string {
		return fmt.Sprintf("kafka-topics.sh --bootstrap-server %s --alter --topic %s --partitions %d", c.bootstrap, topic, n)
	}
	switch {
	case t.Role == RoleControl:
		fault.Message = fmt.Sprintf("%s, but it must have 1, so that all instances see one order of events", count(have.partitions))
		fault.Fix = "Kafka never removes a partition: stop the pipeline, " + c.recreate(t)
	case have.partitions < want:
		fault.Fix = "run: " + grow(t.Name, want)
	default:
		fault.Fix = fmt.Sprintf("Kafka never removes a partition: stop the pipeline and either grow the source (keys then move to other partitions): %s; or, once the topic is empty, %s",
			grow(c.source.Name, have.partitions), c.recreate(t))
	}
	return fault, true
}

func (c comparison) recreate(t Topic) string {
	return fmt.Sprintf("recreate it: kafka-topics.sh --bootstrap-server %s --delete --topic %s, then: consumer topics ensure", c.bootstrap, t.Name)
}

func (c comparison) cleanup(t Topic, have observed) (Fault, bool) {
	actual := have.settings[settingCleanup]
	refuses := t.Keyless && strings.Contains(actual, string(CleanupCompact))
	switch {
	case t.Role == RoleOutput && refuses: // its records without a key become dead letters, and the others pass
		return Fault{
			Kind: FaultCleanup,
			Message: fmt.Sprintf("%s is %s, and a compacted topic accepts no record without a key: with source.null_keys: accept such records become dead letters (null_key)",
				settingCleanup, actual),
			Fix: "send records with keys and set source.null_keys: reject, or " + c.set(t, settingCleanup, string(CleanupDelete)),
		}, true
	case t.Cleanup == CleanupOwner || sameCleanup(actual, t.Cleanup):
		return Fault{}, false
	}
	fault, bad := c.setting(FaultCleanup, t, have, settingCleanup, string(t.Cleanup), fmt.Sprintf(", but must be %s, or records are lost", t.Cleanup))
	if fault.refuses = refuses; refuses {
		fault.Message += "; a compacted topic accepts no record without a key"
	}
	return fault, bad
}

func (c comparison) retention(t Topic, have observed) (Fault, bool) {
	want := t.retentionText()
	if t.Retention == 0 || !keepsLessThan(have.settings[settingRetention], want) {
		return Fault{}, false
	}
	return c.setting(FaultRetention, t, have, settingRetention, want, fmt.Sprintf(", but must be %s, or Kafka deletes records that are still needed", atLeast(want)))
}

func (c comparison) retentionBytes(t Topic, have observed) (Fault, bool) {
	if t.Retention != Forever || !keepsLessThan(have.settings[settingRetentionBytes], unlimited) {
		return Fault{}, false
	}
	return c.setting(FaultRetention, t, have, settingRetentionBytes, unlimited, ", but must be -1, or Kafka deletes records that are still needed")
}

// defaultMaxMessage is Kafka's default of max.message.bytes.
const defaultMaxMessage = 1048588

func (c comparison) maxMessage(t Topic, have observed) (Fault, bool) {
	source, exists := c.seen[c.source.Name]
	if n := have.maxMessage(); t.Role != RoleSource && t.Role != RoleOutput && 0 < n && n < Headroom {
		fix := int64(defaultMaxMessage)
		if t.Sized {
			fix = max(fix, source.maxMessage()+int64(t.Headroom))
		}
		fault, bad := c.setting(FaultMaxMessage, t, have, settingMaxMessage, strconv.FormatInt(fix, 10), fmt.Sprintf(", but the pipeline's records about one source record need up to %d", Headroom))
		fault.refuses = true
		return fault, bad
	}
	if !t.Sized || !exists {
		return Fault{}, false
	}
	largest, want := source.maxMessage(), source.maxMessage()+int64(t.Headroom)
	if have.maxMessage() >= want {
		return Fault{}, false
	}
	why := fmt.Sprintf("a record needs %d more for its headers; one that fits nowhere becomes a pointer to its position in the source", t.Headroom)
	if t.Role == RoleOutput {
		why = "a feature near that size becomes a dead letter (output_too_large)"
	}
	return c.setting(FaultMaxMessage, t, have, settingMaxMessage, strconv.FormatInt(want, 10), fmt.Sprintf(", but the source accepts %d, and %s", largest, why))
}

// compression refuses topics that store batches uncompressed. Brokers compare stored batches with max.message.bytes,
// so a record that fits the source compressed would not fit here.
func (c comparison) compression(t Topic, have observed) (Fault, bool) {
	if !t.Sized || have.settings[settingCompression] != uncompressed {
		return Fault{}, false
	}
	return c.setting(FaultCompression, t, have, settingCompression, "producer", ", so a record that fits the source compressed may not fit here")
}

// segment refuses a busy topic with large segments: a start would have to read records that should have been
// compacted long before.
func (c comparison) segment(t Topic, have observed) (Fault, bool) {
	size, err := strconv.ParseInt(have.settings[settingSegment], 10, 64)
	if !t.Busy || err != nil || size <= busySegmentMost {
		return Fault{}, false
	}
	return c.setting(FaultSegment, t, have, settingSegment, busySegment+","+settingDeleted+"="+busyDeleted,
		": every transaction writes to the topic, and a start has to read everything that is not compacted yet")
}

// setting returns the fault of a setting: the reason, after its value, and the command that sets the required value.
func (c comparison) setting(kind FaultKind, t Topic, have observed, key, want, why string) (Fault, bool) {
	return Fault{Kind: kind, Message: key + " is " + have.settings[key] + why, Fix: c.set(t, key, want)}, true
}

func (c comparison) set(t Topic, key, value string) string {
	return fmt.Sprintf("run: kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config %s=%s",
		c.bootstrap, t.Name, key, value)
}

// maxMessage returns max.message.bytes, which every broker sends as a number; anything else counts as 0.
func (o observed) maxMessage() int64 {
	n, err := strconv.ParseInt(o.settings[settingMaxMessage], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func sourceOf(plan []Topic) Topic {
	for _, t := range plan {
		if t.Role == RoleSource {
			return t
		}
	}
	return Topic{}
}

func atLeast(want string) string {
	if want == unlimited {
		return want
	}
	return "at least " + want
}

func count(partitions int32) string {
	if partitions == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", partitions)
}

// Check returns every fault of the plan's topics, in the order of the plan; none means that the pipeline can run. It
// changes nothing. The error means that the broker did not answer.
func Check(ctx context.Context, admin *kadm.Client, plan []Topic) ([]Fault, error) {
	seen, err := observe(ctx, admin, plan)
	if err != nil {
		return nil, err
	}
	address, err := bootstrap(ctx, admin)
	if err != nil {
		return nil, err
	}
	return compare(plan, seen, address), nil
}
