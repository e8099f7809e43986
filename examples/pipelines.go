package examples

import _ "embed" // the pipeline files

var (
	//go:embed demo/pipeline.yaml
	demoPipeline string
	//go:embed demo/pipeline.fixed.yaml
	demoPipelineFixed string
)

// DemoPipeline is examples/demo/pipeline.yaml: earthquakes and counties in one pipeline that
// rejects invalid geometries.
func DemoPipeline() []byte { return []byte(demoPipeline) }

// DemoPipelineFixed is examples/demo/pipeline.fixed.yaml: the same pipeline after the operator's
// fix. It flags an invalid geometry instead of rejecting it, and differs in nothing else.
func DemoPipelineFixed() []byte { return []byte(demoPipelineFixed) }
