package filter

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/envelope"
)

// Headers returns what a pipeline's source format needs to know beside a line, which has no headers of its own: an event
// of CloudEvents on one line is in structured mode. The error says which key of the file speaks of a format that is no
// text.
func Headers(source config.Source) ([]kgo.RecordHeader, error) {
	switch {
	case source.Format == envelope.Avro:
		return nil, fmt.Errorf("source.format: %s is bytes, and this reads lines of JSON; try the mapping with -c on a copy of the file that says geojson", source.Format)
	case source.Format == envelope.Debezium && source.Debezium.Serialization == envelope.SerializationAvro:
		return nil, fmt.Errorf("source.debezium.serialization: %s is bytes, and this reads lines of JSON; try the mapping on the events as JSON", source.Debezium.Serialization)
	case source.Format == envelope.CloudEvents:
		return []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/cloudevents+json")}}, nil
	}
	return nil, nil // auto too: without headers a line is GeoJSON
}
