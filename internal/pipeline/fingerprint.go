package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

// filesRead are hashes of the files that a mapping reads once. They are taken with the first fingerprint.
type filesRead struct {
	Schemas []string          `json:"schemas"` // fingerprints of Avro schemas, ascending: a record is read by fingerprint
	Grids   map[string]string `json:"grids"`   // by file name
}

func digestFiles(cfg *config.Config, schemas []*avro.Schema) (filesRead, error) {
	f := filesRead{Schemas: []string{}, Grids: map[string]string{}}
	for _, schema := range schemas {
		sum := sha256.Sum256([]byte(schema.Canonical()))
		f.Schemas = append(f.Schemas, hex.EncodeToString(sum[:]))
	}
	slices.Sort(f.Schemas)
	folder := cfg.Transform.Geometry.Grids.Folder
	if folder == "" {
		return f, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return f, fmt.Errorf("transform.geometry.grids.folder: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if f.Grids[e.Name()], err = digestFile(filepath.Join(folder, e.Name())); err != nil {
			return f, fmt.Errorf("transform.geometry.grids.folder: %w", err)
		}
	}
	return f, nil
}

func digestFile(name string) (sum string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Fingerprint returns "sha256:" and 64 hex digits of everything that determines the result for a record: the decisive
// part of the configuration ([config.Config.Decisive]) and the content of the files that it names. Two instances with
// the same fingerprint and the same version of the software produce the same result for a record. The fingerprint
// changes when a reference set changes. See docs/decisions/0079.
func (m *Mapping) Fingerprint() (string, error) {
	decisive, err := m.cfg.Decisive()
	if err != nil {
		return "", err
	}
	files, err := m.files()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"config": decisive, "files": files, "references": m.sets.Digests()})
	if err != nil {
		return "", fmt.Errorf("fingerprint of the mapping: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
