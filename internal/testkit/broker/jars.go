package broker

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/switchback-geo/switchback/internal/testkit/jars"
)

// pom lists Kafka's jars for Maven. Its version is kafkaVersion (a test holds
// the two together).
//
//go:embed kafka-pom.xml
var pom []byte

// kafkaJars returns the folder that holds Kafka's jars, fetching them from Maven
// Central when download says so.
func kafkaJars(ctx context.Context, download bool) (string, error) {
	libs, err := jars.Set{Name: "kafka-" + kafkaVersion, POM: pom}.Fetch(ctx, download)
	if err != nil && !download {
		return "", fmt.Errorf("%w (%s=kafka fetches them)", err, EnvForce)
	}
	return libs, err
}
