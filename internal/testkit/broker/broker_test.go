package broker

import (
	"bytes"
	"testing"
)

func TestPomAndContainerRunTheSameKafka(t *testing.T) {
	if want := []byte("<artifactId>kafka_2.13</artifactId><version>" + kafkaVersion + "</version>"); !bytes.Contains(pom, want) {
		t.Errorf("kafka-pom.xml does not hold %s", want)
	}
}
