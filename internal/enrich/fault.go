package enrich

import "github.com/switchback-geo/switchback/pkg/classify"

// fault is a failure that no library reports: a missing value of the feature, or a wrong but successful answer.
type fault struct {
	code    classify.Code
	message string
}

func (f *fault) Error() string { return f.message }

// FailureCode makes the error classifiable.
func (f *fault) FailureCode() classify.Code { return f.code }

// FailureStage makes the error classifiable.
func (f *fault) FailureStage() classify.Stage { return classify.StageEnrich }
