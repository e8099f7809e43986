package broker

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pom lists Kafka's jars for Maven. Its version is kafkaVersion (a test holds
// the two together).
//
//go:embed kafka-pom.xml
var pom []byte

// jarsDir is where the jars of this Kafka version are kept between runs.
func jarsDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "switchback", "kafka-"+kafkaVersion), nil
}

// jars returns the folder that holds Kafka's jars, fetching them from Maven
// Central when download says so. The folder appears whole or not at all.
func jars(ctx context.Context, download bool) (string, error) {
	dir, err := jarsDir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if !download {
		return "", fmt.Errorf("%w: Kafka's jars are not in the cache (%s=kafka fetches them)", errAbsent, EnvForce)
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: mvn is not installed, and Kafka's jars are not in the cache", errAbsent)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := fetch(ctx, mvn, fresh); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(fresh, "libs"), dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

func fetch(ctx context.Context, mvn, dir string) error {
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+filepath.Join(dir, "libs"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch Kafka's jars: mvn: %w\n%s", err, out)
	}
	return nil
}
