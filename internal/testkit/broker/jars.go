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

// kafkaJars returns the folder with Kafka's jars. With download, it fetches missing jars from Maven Central.
func kafkaJars(ctx context.Context, download bool) (string, error) {
	versioned := bytes.ReplaceAll(pom, []byte("VERSION"), []byte(kafkaVersion))
	libs, err := jars.Set{Name: "kafka-" + kafkaVersion, POM: versioned}.Fetch(ctx, download)
	if err != nil && !download {
		return "", fmt.Errorf("%w (%s=kafka fetches them)", err, EnvForce)
	}
	return libs, err
}
