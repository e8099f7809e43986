package broker

import (
	"bytes"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestPomAndContainerRunTheSameKafka(t *testing.T) {
	want := []byte("<artifactId>kafka_2.13</artifactId><version>" + kafkaVersion + "</version>")
	expect.That(t, bytes.Contains(pom, want), "kafka-pom.xml does not hold %s", want)
}
