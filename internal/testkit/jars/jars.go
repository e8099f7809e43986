package jars

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ErrAbsent marks jars that this machine does not have. Any other error means that the download failed.
var ErrAbsent = errors.New("not here")

// downloadBound limits a download.
const downloadBound = 5 * time.Minute

// Set is a list of jars. The folder with its name is kept permanently, so the name must contain the versions and
// change with the POM.
type Set struct {
	Name string // of the folder, for example "kafka-4.1.0"
	POM  []byte // Maven's list of the libraries
}

// Fetch returns the folder with the jars. With download, it fetches missing ones from Maven Central. The folder appears
// complete or not at all.
func (s Set) Fetch(ctx context.Context, download bool) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "switchback", s.Name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if !download {
		return "", fmt.Errorf("%w: the jars %s are not in the cache", ErrAbsent, s.Name)
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: mvn is not installed, and the jars %s are not in the cache", ErrAbsent, s.Name)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := s.copy(ctx, mvn, fresh); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(fresh, "libs"), dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// copy makes Maven put the jars into the folder libs of dir.
func (s Set) copy(ctx context.Context, mvn, dir string) error {
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, s.POM, 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+filepath.Join(dir, "libs"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch the jars %s: mvn: %w\n%s", s.Name, err, out)
	}
	return nil
}
