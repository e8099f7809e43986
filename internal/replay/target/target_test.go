package target

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestTopic_C4_settings(t *testing.T) {
	for name, c := range map[string]struct {
		settings  map[string]string
		compacted bool
		maxBytes  int
		keeps     time.Duration
	}{
		"none":              {},
		"usual":             {map[string]string{"cleanup.policy": "delete", "retention.ms": "604800000", "max.message.bytes": "1048588", "message.timestamp.before.max.ms": "9223372036854775807"}, false, 1048588, 7 * 24 * time.Hour},
		"for ever":          {map[string]string{"cleanup.policy": "delete", "retention.ms": "-1"}, false, 0, 0},
		"compacted":         {map[string]string{"cleanup.policy": "compact", "retention.ms": "1000"}, true, 0, 0},
		"both":              {map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "1000"}, true, 0, time.Second},
		"refuses old":       {map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "message.timestamp.difference.max.ms": "2000"}, false, 0, 2 * time.Second},
		"its own time":      {map[string]string{"cleanup.policy": "delete", "retention.ms": "1000", "message.timestamp.type": "LogAppendTime"}, false, 0, 0},
		"deletes at once":   {map[string]string{"cleanup.policy": "delete", "retention.ms": "0"}, false, 0, 1},
		"what is no number": {map[string]string{"retention.ms": "x", "max.message.bytes": "99999999999999999999"}, false, 0, 0},
	} {
		var got Topic
		got.set(c.settings)
		expect.That(t, got.Compacted == c.compacted && got.maxBytes == c.maxBytes && got.Keeps == c.keeps, "%s: %+v", name, got)
		expect.That(t, got.Fits(&kgo.Record{Value: make([]byte, 2000)}), "%s: does not take a small record", name)
	}
}

func TestNewest_C4_offsetsInOnePartitionAndTimestampsElsewhere(t *testing.T) {
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	n := Newest{Ends: map[string]map[int32]int64{"a": {0: 100, 1: 100}}, Ignore: func(r *kgo.Record) bool { return string(r.Value) == "ours" }}
	add := func(partition int32, offset int64, key, value string, after time.Duration) {
		r := &kgo.Record{Topic: "a", Partition: partition, Offset: offset, Key: []byte(key), Value: []byte(value), Timestamp: at.Add(after)}
		must.Do(t, n.add(idempotency.HashKey(r.Key), r))
	}
	add(0, 5, "k", "1", 0)
	add(0, 9, "k", "2", -time.Hour) // a producer's clock says nothing here
	add(0, 20, "k", "ours", time.Hour)
	add(0, 10, "moved", "1", 0)
	add(1, 2, "moved", "2", time.Minute)
	for name, c := range map[string]struct {
		key  string
		from header.Position
		at   time.Time
		want bool
	}{
		"older":                         {"k", header.Position{Topic: "a", Offset: 8}, at.Add(time.Hour), true},
		"the newest itself":             {"k", header.Position{Topic: "a", Offset: 9}, time.Time{}, false},
		"what we wrote does not count":  {"k", header.Position{Topic: "a", Offset: 19}, time.Time{}, false},
		"beyond the end":                {"k", header.Position{Topic: "a", Offset: 100}, at.Add(time.Hour), true},
		"from elsewhere, younger":       {"k", header.Position{Topic: "b"}, at.Add(time.Minute), false},
		"from elsewhere, older":         {"k", header.Position{Topic: "b"}, at.Add(-time.Minute), true},
		"of unknown age":                {"k", header.Position{}, time.Time{}, true},
		"in several partitions, older":  {"moved", header.Position{Topic: "a", Offset: 50}, at, true},
		"in several partitions, newest": {"moved", header.Position{Topic: "a", Partition: 1, Offset: 2}, at.Add(time.Minute), false},
		"no value of the key":           {"none", header.Position{}, time.Time{}, false},
	} {
		expect.Equal(t, n.Than("a", idempotency.HashKey([]byte(c.key)), c.from, c.at), c.want, name)
	}
}

func TestNewest_C4_keysAreBounded(t *testing.T) {
	n := Newest{kept: maxKeys - 1}
	var err error
	for i := range 2 {
		err = n.add(idempotency.HashKey(fmt.Append(nil, i)), &kgo.Record{Topic: "a"})
	}
	expect.That(t, errors.Is(err, ErrManyKeys), "%v", err)
}
