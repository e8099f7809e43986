package classify

import "errors"

// Stage is the step of the pipeline in which a failure happened.
type Stage string

const (
	// StageHeader reads the control headers of a record.
	StageHeader Stage = "header"
	// StageGate checks CRS, geometry and coordinates before anything is transformed (S1-4).
	StageGate Stage = "gate"
	// StageDecode turns bytes into a feature.
	StageDecode Stage = "decode"
	// StageTransform maps the feature onto the target schema.
	StageTransform Stage = "transform"
	// StageEnrich asks remote services.
	StageEnrich Stage = "enrich"
	// StageValidate checks the result against the target schema.
	StageValidate Stage = "validate"
	// StageEncode turns the result into bytes.
	StageEncode Stage = "encode"
	// StageSink writes the result into a table outside Kafka.
	StageSink Stage = "sink"
	// StageProduce hands the bytes to the broker.
	StageProduce Stage = "produce"
	// StageHandler is any other place in the handler: the stage of an error that names none.
	StageHandler Stage = "handler"
)

// Stages lists every stage, in a record's order.
func Stages() []Stage {
	return []Stage{
		StageHeader, StageDecode, StageGate, StageTransform, StageEnrich, StageValidate, StageEncode, StageSink, StageProduce, StageHandler,
	}
}

type staged struct {
	error
	stage Stage
}

func (s *staged) Unwrap() error { return s.error }

// WithStage marks err with its stage, and keeps its message. The innermost mark counts, so an error that has one is
// returned unchanged. A nil error stays nil.
func WithStage(stage Stage, err error) error {
	var marked *staged
	if err == nil || errors.As(err, &marked) {
		return err
	}
	return &staged{error: err, stage: stage}
}

// stageOf returns the stage of err: a Coded error's own, otherwise its mark, otherwise StageHandler.
func stageOf(err error) Stage {
	var coded Coded
	if errors.As(err, &coded) && isStage(coded.FailureStage()) {
		return coded.FailureStage()
	}
	var marked *staged
	if errors.As(err, &marked) && isStage(marked.stage) {
		return marked.stage
	}
	return StageHandler
}
