package schemas

import (
	"embed"
	"fmt"
	"io/fs"
)

// The names of the schemas that other parts of the project refer to.
const (
	Pipeline        = "pipeline.schema.json"             // the pipeline file
	AuditEvent      = "audit-event.v1.schema.json"       // value of a record in <source>.audit
	DeadLetterState = "dead-letter-state.v1.schema.json" // value of a record in <source>.dlq-status

	// FeatureEventAvro is the Avro schema of a feature: the content of feature-event.v1.json.
	FeatureEventAvro = "feature-event.v1.avsc"
)

//go:embed *.json *.avsc
var files embed.FS

// Read returns the text of one schema by its file name, such as [Pipeline]. The error names the
// file that does not exist.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return text, nil
}

// Names lists the JSON schemas, sorted.
func Names() ([]string, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list schemas: %w", err)
	}
	return names, nil
}
