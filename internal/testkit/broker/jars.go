package broker

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"

	"github.com/switchback-geo/switchback/internal/testkit/jars"
)

// pom lists Kafka's jars for Maven. VERSION in it stands for kafkaVersion.
//
//go:embed kafka-pom.xml
var pom []byte

// kafkaJars returns the folder that holds Kafka's jars, fetching them from Maven
// Central when download says so.
func kafkaJars(ctx context.Context, download bool) (string, error) {
	versioned := bytes.ReplaceAll(pom, []byte("VERSION"), []byte(kafkaVersion))
	libs, err := jars.Set{Name: "kafka-" + kafkaVersion, POM: versioned}.Fetch(ctx, download)
	if err != nil && !download {
		return "", fmt.Errorf("%w (%s=kafka fetches them)", err, EnvForce)
	}
	return libs, err
}
