package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const (
	// settleTimeout bounds the wait until the brokers report a new topic; settleInterval is the time between two
	// checks.
	settleTimeout  = 30 * time.Second
	settleInterval = 50 * time.Millisecond
)

// Report is the result of Ensure.
type Report struct {
	Created  []Topic // with the partition count at creation
	Existing []Topic // Partitions is the actual count
	Faults   []Fault // of the existing topics
}

// String returns one line per topic and one per fault.
func (r Report) String() string {
	var lines []string
	for _, t := range r.Created {
		lines = append(lines, "created  "+t.String())
	}
	for _, t := range r.Existing {
		lines = append(lines, fmt.Sprintf("existing %s (%s): %s", t.Name, t.Role, count(t.Partitions)))
	}
	for _, f := range r.Faults {
		lines = append(lines, "differs  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// Ensure creates the missing topics of the plan and waits until the brokers report them. It changes and deletes
// nothing that exists; differences are faults in the report. If a topic cannot be created, the report still has the
// changes made, and the error names each one that failed.
func Ensure(ctx context.Context, admin *kadm.Client, plan []Topic) (Report, error) {
	var report Report
	seen, err := observe(ctx, admin, plan)
	if err != nil {
		return report, err
	}
	for _, t := range plan {
		if have, exists := seen[t.Name]; exists {
			t.Partitions = have.partitions
			report.Existing = append(report.Existing, t)
		}
	}
	// The source comes first, because it determines the partition count and the message size of the others.
	source := sourceOf(plan)
	seen, err = createMissing(ctx, admin, []Topic{source}, seen, &report)
	if err != nil {
		return report, err
	}
	seen, err = createMissing(ctx, admin, plan, seen, &report)
	if err != nil {
		return report, err
	}
	address, err := bootstrap(ctx, admin)
	if err != nil {
		return report, err
	}
	report.Faults = compare(plan, seen, address)
	return report, nil
}

// createMissing creates the topics of plan that are not in seen, waits until the brokers report them, and returns the
// new state of all topics.
func createMissing(ctx context.Context, admin *kadm.Client, plan []Topic, seen map[string]observed, report *Report) (map[string]observed, error) {
	source, hasSource := seen[sourceOf(plan).Name]
	var created []Topic
	var faults []error
	for _, t := range plan {
		if _, exists := seen[t.Name]; exists {
			continue
		}
		if t.Shared && hasSource {
			t.Partitions = source.partitions
		}
		if err := create(ctx, admin, t, source.maxMessage()); err != nil {
			faults = append(faults, err)
			continue
		}
		created = append(created, t)
	}
	report.Created = append(report.Created, created...)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(created) == 0 {
		return seen, nil
	}
	return seen, settle(ctx, len(created), func(ctx context.Context) (bool, error) {
		now, err := observe(ctx, admin, plan)
		if err == nil {
			maps.Copy(seen, now)
		}
		return err == nil && !slices.ContainsFunc(created, func(t Topic) bool { _, known := now[t.Name]; return !known }), err
	})
}

func create(ctx context.Context, admin *kadm.Client, t Topic, sourceMax int64) error {
	answers, err := admin.CreateTopics(ctx, t.Partitions, t.Replication, t.settings(sourceMax), t.Name)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", t.Name, err)
	}
	answer := answers[t.Name]
	if answer.Err == nil || errors.Is(answer.Err, kerr.TopicAlreadyExists) { // another process was faster
		return nil
	}
	answer.Err = kafka.DeniedTopic("Create", t.Name, answer.Err)
	if answer.ErrMessage != "" {
		return fmt.Errorf("create topic %s: %w (%s)", t.Name, answer.Err, answer.ErrMessage)
	}
	return fmt.Errorf("create topic %s: %w", t.Name, answer.Err)
}

// settle calls known until it reports that the brokers have the new topics. A consumer that starts before that
// silently never joins its group.
func settle(ctx context.Context, created int, known func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		done, err := known(ctx)
		if _, denied := errors.AsType[*retrytopics.DeniedError](err); done || denied { // waiting does not help
			return err
		}
		if ended := kafka.Pause(ctx, settleInterval); ended != nil {
			return errors.Join(fmt.Errorf("wait until the brokers report the %d new topics: %w", created, ended), err)
		}
	}
}
