package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// headerRoom is how much larger the message limit of tiers and DLQ must be than the source's, so that a maximal record
// fits with its control headers.
const headerRoom = 16 << 10

// defaultMaxMetadata is Kafka's default of offset.metadata.max.bytes, used if the cluster does not tell.
const defaultMaxMetadata = 4096

// How long a topic may stay invisible: one that may be missing, and one that the broker says to have created.
const (
	missingPatience = 3 * time.Second
	createdPatience = 30 * time.Second
)

// layout is what the engine knows of the topics before it starts.
type layout struct {
	names       map[[16]byte]string           // topic IDs, for responses without names
	ids         map[string]statetopic.TopicID // the inverse of names
	partitions  int
	counts      map[string]int // partitions of each consumed topic
	former      []FormerTier
	limits      *kafka.Limits
	maxMetadata int
	states      bool // the state topic is read
}

// ErrTopics is wrapped by the error about topics that are missing or do not fit together.
var ErrTopics = errors.New("the topics do not fit")

// inspect reads the topics and refuses a set that cannot work. A consumer group whose topic does not exist never joins,
// silently; topics with different partition counts would lose the order of a key.
func (e *Engine) inspect(ctx context.Context, adm *kadm.Client) (*layout, error) {
	names := append(e.topics(), e.memory()...)
	details, err := e.await(ctx, adm, names, missingPatience)
	if err != nil {
		return nil, err
	}
	l := &layout{names: map[[16]byte]string{}, ids: map[string]statetopic.TopicID{}, counts: map[string]int{}, maxMetadata: defaultMaxMetadata}
	var faults []string
	for _, name := range names {
		d := details[name]
		switch {
		case kafka.Denied(d.Err):
			return nil, e.denial("Describe", "topic "+name, d.Err)
		case !present(details, name):
			faults = append(faults, fmt.Sprintf("topic %s does not exist or cannot be read (%v); create it", name, d.Err))
			continue
		case name == e.cfg.Source:
			l.partitions = len(d.Partitions)
		case l.partitions != 0 && len(d.Partitions) != l.partitions:
			faults = append(faults, fmt.Sprintf("topic %s has %d partitions, the source %s has %d; they must be equal: %s", name,
				len(d.Partitions), e.cfg.Source, l.partitions, fix(name, len(d.Partitions), l.partitions)))
		}
		l.names[d.ID], l.ids[name] = name, statetopic.TopicID(d.ID)
	}
	if err := e.inspectFormer(ctx, adm, l, &faults); err != nil {
		return nil, err
	}
	if len(faults) == 0 {
		if faults, err = e.inspectOwners(ctx, adm); err != nil {
			return nil, err
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrTopics, strings.Join(faults, "; "))
	}
	l.limits = e.readLimits(ctx, adm, append(names, e.cfg.Outputs...))
	l.maxMetadata = e.readMaxMetadata(ctx, adm, details[e.cfg.Source])
	l.states, err = e.remembers(ctx, adm, l.partitions)
	return l, err
}

// remembers reports whether the state topic is read. Without an order it may exist from an earlier configuration with
// one. Its entries are then finished, so that nothing waits for them if the order comes back.
func (e *Engine) remembers(ctx context.Context, adm *kadm.Client, partitions int) (bool, error) {
	if e.cfg.Ordering.Mode != OrderNone {
		return true, nil
	}
	details, err := adm.ListTopics(ctx, e.cfg.Ordering.StateTopic)
	if err != nil {
		return false, fmt.Errorf("list topics: %w", err)
	}
	d := details[e.cfg.Ordering.StateTopic]
	return present(details, e.cfg.Ordering.StateTopic) && len(d.Partitions) == partitions, nil
}

// await lists the topics. It looks for missing ones again until patience ends: a broker confirms a new topic before its
// metadata show it.
func (e *Engine) await(ctx context.Context, adm *kadm.Client, names []string, patience time.Duration) (kadm.TopicDetails, error) {
	for began := time.Now(); ; {
		details, err := adm.ListTopics(ctx, names...)
		if err != nil {
			return nil, fmt.Errorf("list topics: %w", e.denialAmong("Describe", names, err, func(name string) error {
				_, err := adm.ListTopics(ctx, name)
				return err
			}))
		}
		missing := slices.ContainsFunc(names, func(name string) bool { return !present(details, name) })
		if !missing || time.Since(began) >= patience || !sleep(ctx, kafka.MetadataAge) {
			return details, nil
		}
	}
}

func present(details kadm.TopicDetails, name string) bool {
	d, ok := details[name]
	return ok && d.Err == nil && len(d.Partitions) > 0
}

func fix(topic string, have, want int) string {
	if have > want {
		return "delete and create the empty topic again, or add partitions to the source"
	}
	return "kafka-topics.sh --alter --topic " + topic + " --partitions " + strconv.Itoa(want)
}

// readLimits reads the topics' limits, by which batches are cut. A cluster that does not tell them (because of an ACL,
// say) is no reason to stop.
func (e *Engine) readLimits(ctx context.Context, adm *kadm.Client, topics []string) *kafka.Limits {
	told, err := kafka.ReadLimits(ctx, adm, topics)
	if err != nil {
		e.cfg.Logger.WarnContext(ctx, "topic limits unknown, Kafka's defaults assumed", "error", err)
		told = kafka.Told{}
	}
	own := e.topics()
	s := kafka.NewLimits(told, own)
	source, _ := s.Of(e.cfg.Source)
	for _, name := range own[1:] {
		if limit, _ := s.Of(name); limit < source+headerRoom {
			e.cfg.Logger.WarnContext(ctx, "a maximal record would not fit with its headers", "topic", name,
				"max_message_bytes", limit, "wanted", source+headerRoom)
		}
	}
	return s
}

// readMaxMetadata reads the limit of a commit's metadata.
func (e *Engine) readMaxMetadata(ctx context.Context, adm *kadm.Client, source kadm.TopicDetail) int {
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

// topics lists the source, the tiers and the DLQ, in this order.
func (e *Engine) topics() []string {
	names := []string{e.cfg.Source}
	for _, t := range e.cfg.Retries.Tiers {
		names = append(names, t.Topic)
	}
	return append(names, e.cfg.DLQ)
}

// memory lists the topics in which the engine keeps orders, checkpoints and the ledger.
func (e *Engine) memory() []string {
	var names []string
	if e.cfg.Ordering.Mode != OrderNone {
		names = append(names, e.cfg.Ordering.StateTopic)
	}
	if e.cfg.Dedupe.on() {
		names = append(names, e.cfg.Dedupe.LedgerTopic)
	}
	if e.cfg.Journal.HashChain.on() {
		names = append(names, e.cfg.Journal.HashChain.HeadTopic)
	}
	return names
}

// CreateTopics creates the missing ones of tiers, DLQ, state topic and, if the configuration needs it, ledger. They get
// the partition count and replication factor of the source topic, which must exist. CreateTopics returns when the
// cluster shows them. Tiers and DLQ keep their records for ever: a waiting record must not expire, and the engine
// deletes finished records from a tier. It changes no existing topic.
func (e *Engine) CreateTopics(ctx context.Context) error {
	adm, err := e.access.Admin()
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	defer adm.Close()
	all := append(e.topics(), e.memory()...)
	if state := e.cfg.Ordering.StateTopic; !slices.Contains(all, state) {
		all = append(all, state) // for the checkpoints
	}
	if _, err := e.await(ctx, adm, all[:1], missingPatience); err != nil { // the source may be new too
		return fmt.Errorf("create topics: %w", err)
	}
	details, err := adm.ListTopics(ctx, all...)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	source := details[e.cfg.Source]
	if !present(details, e.cfg.Source) {
		return fmt.Errorf("create topics: the source topic %s does not exist: create it first", e.cfg.Source)
	}
	most, _ := e.readLimits(ctx, adm, all[:1]).Of(e.cfg.Source)
	limit := strconv.Itoa(most + headerRoom)
	for _, name := range all[1:] {
		if present(details, name) {
			continue
		}
		config := e.topicConfig(name, limit)
		_, err := adm.CreateTopic(ctx, int32(len(source.Partitions)), int16(len(source.Partitions[0].Replicas)), config, name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) { // another instance that starts now was faster
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	if details, err = e.await(ctx, adm, all, createdPatience); err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	for _, name := range all {
		if !present(details, name) {
			return fmt.Errorf("create topics: %s was created and is still not to be seen after %v; is a broker short of time?", name, createdPatience)
		}
	}
	return nil
}

func (e *Engine) topicConfig(name, limit string) map[string]*string {
	switch name {
	case e.cfg.Ordering.StateTopic: // every transaction writes to it, and a start reads what is not compacted yet
		return map[string]*string{"cleanup.policy": new("compact"), "segment.bytes": new("8388608"), "delete.retention.ms": new("600000")}
	case e.cfg.Journal.HashChain.HeadTopic:
		return map[string]*string{"cleanup.policy": new("compact")}
	case e.cfg.Dedupe.LedgerTopic:
		keep := strconv.FormatInt(e.cfg.Dedupe.Window.Milliseconds(), 10)
		return map[string]*string{"cleanup.policy": new("delete"), "retention.ms": &keep}
	}
	return map[string]*string{
		"cleanup.policy": new("delete"), "retention.ms": new("-1"), "retention.bytes": new("-1"), "max.message.bytes": &limit,
	}
}
