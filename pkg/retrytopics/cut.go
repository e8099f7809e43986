package retrytopics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// disorderError says that a partition sent a record that lies before what was taken of it.
type disorderError struct {
	topicPartition
	offset    int64
	committed int64
}

func (e *disorderError) Error() string {
	return fmt.Sprintf("%s partition %d sent offset %d out of its order", e.topic, e.partition, e.offset)
}

// ErrLogTruncated is wrapped when a partition ends before what is committed of it: the brokers lost records, or the topic was created again
// under its old name. Records that come now have offsets of old ones, so going on would skip them, or take them for older than
// what took effect. Nobody but a person knows what is right then.
var ErrLogTruncated = errors.New("a partition ends before what is committed of it")

// explained asks the brokers for the cause of a disorder. What is no cut may be fixed by another session.
func (s *session) explained(ctx context.Context, err error) error {
	var disorder *disorderError
	if !errors.As(err, &disorder) {
		return err
	}
	ends, listErr := s.adm.ListEndOffsets(ctx, disorder.topic)
	end, known := ends.Lookup(disorder.topic, disorder.partition)
	if listErr != nil || !known || end.Err != nil || end.Offset >= disorder.committed {
		return err
	}
	return cutError(end, disorder.committed)
}

func cutError(end kadm.ListedOffset, committed int64) error {
	return fmt.Errorf("%w: %s partition %d ends at offset %d, and %d is committed; the brokers lost records, or the topic was re-created: "+
		"see docs/operations.md, \"A topic that was cut\"", ErrLogTruncated, end.Topic, end.Partition, end.Offset, committed)
}

// uncut refuses partitions that end before what is committed of them. The ends were read after the commits.
func uncut(committed kadm.OffsetResponses, ends kadm.ListedOffsets) (cut error) {
	ends.Each(func(end kadm.ListedOffset) {
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok && end.Err == nil && c.At > end.Offset && cut == nil {
			cut = cutError(end, c.At)
		}
	})
	return cut
}
