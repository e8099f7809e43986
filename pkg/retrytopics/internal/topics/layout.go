package topics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// defaultMaxMetadata is Kafka's default of offset.metadata.max.bytes, used if the cluster does not report a limit.
const defaultMaxMetadata = 4096

// How long a topic may stay invisible: a topic that may be missing, and one that the broker reports as created.
const (
	missingPatience = 3 * time.Second
	createdPatience = 30 * time.Second
)

// ErrUnfit is wrapped by the error about topics that are missing or do not fit together.
var ErrUnfit = errors.New("the topics do not fit")

// Cluster asks the cluster about the topics of one pipeline.
type Cluster struct {
	Set
	*kafka.Access
	Group    string
	Pipeline string // ID in the control headers
	Log      *slog.Logger
}

// Layout is what the cluster reports about the topics before a session starts.
type Layout struct {
	Names       map[[16]byte]string           // topic IDs, for responses without names
	IDs         map[string]statetopic.TopicID // the inverse of Names
	Partitions  int
	Counts      map[string]int // partitions of each consumed topic
	Former      []Former
	Limits      *kafka.Limits
	MaxMetadata int  // of a commit, in bytes
	States      bool // the state topic is read
}

// Inspect reads the topics and refuses a set that cannot work. A consumer group whose topic does not exist never joins,
// silently; topics with different partition counts would lose the order of a key. An engine that has committed before
// does not look for records of another pipeline.
func (c *Cluster) Inspect(ctx context.Context, adm *kadm.Client, committedBefore bool) (*Layout, error) {
	names := append(c.Records(), c.Memory()...)
	details, err := c.await(ctx, adm, names, missingPatience)
	if err != nil {
		return nil, err
	}
	l := &Layout{Names: map[[16]byte]string{}, IDs: map[string]statetopic.TopicID{}, Counts: map[string]int{}, MaxMetadata: defaultMaxMetadata}
	faults, err := c.compare(l, names, details)
	if err != nil {
		return nil, err
	}
	if err := c.inspectFormer(ctx, adm, l, &faults); err != nil {
		return nil, err
	}
	if len(faults) == 0 && !committedBefore {
		if faults, err = c.inspectOwners(ctx, adm); err != nil {
			return nil, err
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnfit, strings.Join(faults, "; "))
	}
	l.Limits = c.readLimits(ctx, adm, append(names, c.Outputs...))
	l.MaxMetadata = readMaxMetadata(ctx, adm, details[c.Source])
	l.States, err = c.remembers(ctx, adm, l.Partitions)
	return l, err
}

// compare adds the topics to a layout and returns their faults.
func (c *Cluster) compare(l *Layout, names []string, details kadm.TopicDetails) (faults []string, err error) {
	for _, name := range names {
		d := details[name]
		switch {
		case kafka.Denied(d.Err):
			return nil, c.Denial("Describe", "topic "+name, d.Err)
		case !present(details, name):
			faults = append(faults, fmt.Sprintf("topic %s does not exist or cannot be read (%v); create it", name, d.Err))
			continue
		case name == c.Source:
			l.Partitions = len(d.Partitions)
		case l.Partitions != 0 && len(d.Partitions) != l.Partitions:
			faults = append(faults, fmt.Sprintf("topic %s has %d partitions, the source %s has %d; they must be equal: %s", name,
				len(d.Partitions), c.Source, l.Partitions, fix(name, len(d.Partitions), l.Partitions)))
		}
		l.Names[d.ID], l.IDs[name] = name, statetopic.TopicID(d.ID)
	}
	return faults, nil
}

func fix(topic string, have, want int) string {
	if have > want {
		return "delete and create the empty topic again, or add partitions to the source"
	}
	return "kafka-topics.sh --alter --topic " + topic + " --partitions " + strconv.Itoa(want)
}

// remembers reports whether the state topic is read. Without an order it may exist from an earlier configuration with
// one. Its entries are then finished, so that nothing waits for them if the order comes back.
func (c *Cluster) remembers(ctx context.Context, adm *kadm.Client, partitions int) (bool, error) {
	if c.Ordered {
		return true, nil
	}
	details, err := adm.ListTopics(ctx, c.State)
	if err != nil {
		return false, fmt.Errorf("list topics: %w", err)
	}
	return present(details, c.State) && len(details[c.State].Partitions) == partitions, nil
}

// await lists the topics. It looks for missing ones again until patience ends: a broker confirms a new topic before its
// metadata show it.
func (c *Cluster) await(ctx context.Context, adm *kadm.Client, names []string, patience time.Duration) (kadm.TopicDetails, error) {
	for began := time.Now(); ; {
		details, err := adm.ListTopics(ctx, names...)
		if err != nil {
			return nil, fmt.Errorf("list topics: %w", c.DenialAmong("Describe", names, err, func(name string) error {
				_, err := adm.ListTopics(ctx, name)
				return err
			}))
		}
		missing := slices.ContainsFunc(names, func(name string) bool { return !present(details, name) })
		if !missing || time.Since(began) >= patience {
			return details, nil
		}
		select {
		case <-ctx.Done():
			return details, nil
		case <-time.After(kafka.MetadataAge):
		}
	}
}

func present(details kadm.TopicDetails, name string) bool {
	d, ok := details[name]
	return ok && d.Err == nil && len(d.Partitions) > 0
}

// readLimits reads the topics' limits, which bound batches. A cluster that does not report them (because of an ACL,
// for example) does not stop the engine.
func (c *Cluster) readLimits(ctx context.Context, adm *kadm.Client, topics []string) *kafka.Limits {
	told, err := kafka.ReadLimits(ctx, adm, topics)
	if err != nil {
		c.Log.WarnContext(ctx, "topic limits unknown, Kafka's defaults assumed", "error", err)
		told = kafka.Told{}
	}
	own := c.Records()
	limits := kafka.NewLimits(told, own)
	source, _ := limits.Of(c.Source)
	for _, name := range own[1:] {
		if limit, _ := limits.Of(name); limit < source+HeaderRoom {
			c.Log.WarnContext(ctx, "a record of the largest size would not fit with its headers", "topic", name,
				"max_message_bytes", limit, "wanted", source+HeaderRoom)
		}
	}
	return limits
}

// readMaxMetadata reads the limit of a commit's metadata.
func readMaxMetadata(ctx context.Context, adm *kadm.Client, source kadm.TopicDetail) int {
	for _, p := range source.Partitions {
		brokers, err := adm.DescribeBrokerConfigs(ctx, p.Leader)
		if err == nil && len(brokers) == 1 {
			if n, ok := kafka.Number(brokers[0].Configs, "offset.metadata.max.bytes"); ok {
				return n
			}
		}
		break
	}
	return defaultMaxMetadata
}

// Compare returns an error in changed if a topic was re-created, because the client's knowledge of it is no longer true,
// or if partitions were added to the source: the client would notice them only after minutes, and their tiers may be
// missing. A topic that is missing at the moment may come back.
func (l *Layout) Compare(ctx context.Context, adm *kadm.Client, source string) (changed, err error) {
	details, err := adm.ListTopics(ctx, slices.Collect(maps.Keys(l.IDs))...)
	if err != nil {
		return nil, err
	}
	for name, id := range l.IDs {
		if d := details[name]; d.Err == nil && id.Differs(statetopic.TopicID(d.ID)) {
			return fmt.Errorf("topic %s was deleted and re-created while it was in use: it had id %s, and has %s now", name, id, statetopic.TopicID(d.ID)), nil
		}
	}
	if d := details[source]; d.Err == nil && len(d.Partitions) > l.Partitions {
		return fmt.Errorf("topic %s had %d partitions, and has %d now", source, l.Partitions, len(d.Partitions)), nil
	}
	return nil, nil
}
