package pipeline

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/envelope"
)

// FormatHeaders returns the record headers by which the source format recognizes a line, because a line has no
// headers: a CloudEvent on one line is in structured mode. The error names the key of the file that sets a format
// that is not text.
func FormatHeaders(source config.Source) ([]kgo.RecordHeader, error) {
	switch {
	case source.Format == envelope.Avro:
		return nil, fmt.Errorf("source.format: %s is binary, but this command reads lines of JSON; try the mapping with -c on a copy of the file that sets geojson", source.Format)
	case source.Format == envelope.Debezium && source.Debezium.Serialization == envelope.SerializationAvro:
		return nil, fmt.Errorf("source.debezium.serialization: %s is binary, but this command reads lines of JSON; try the mapping on the events as JSON", source.Debezium.Serialization)
	case source.Format == envelope.CloudEvents:
		return []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/cloudevents+json")}}, nil
	}
	return nil, nil // also for auto: without headers a line is GeoJSON
}
