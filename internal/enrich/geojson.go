package enrich

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// unmatchedError means that nothing matches the question. It is the record's failure only if the step requires an
// answer.
type unmatchedError struct{ what string }

func (e *unmatchedError) Error() string { return e.what + ": nothing matches" }

// FailureCode makes the error classifiable.
func (e *unmatchedError) FailureCode() classify.Code { return classify.CodeForeignKeyUnresolved }

// FailureStage makes the error classifiable.
func (e *unmatchedError) FailureStage() classify.Stage { return classify.StageEnrich }

// oneFeature returns the feature of a GeoJSON answer: the answer itself, or the only member of a collection (RFC 7946).
func oneFeature(what string, answer transform.Value) (transform.Value, error) {
	switch typeOf(answer) {
	case "Feature":
		return answer, nil
	case "FeatureCollection":
	default:
		return transform.Value{}, &fault{classify.CodeBadResponse, fmt.Sprintf("%s: the answer is no GeoJSON feature or collection of features", what)}
	}
	features, ok := child(answer, "features")
	if !ok || features.Kind() != transform.KindArray {
		return transform.Value{}, &fault{classify.CodeBadResponse, what + ": the answer is a collection without features"}
	}
	switch all := features.Items(); {
	case len(all) == 0:
		return transform.Value{}, &unmatchedError{what}
	case len(all) > 1:
		return transform.Value{}, &fault{classify.CodeForeignKeyUnresolved, what + ": more than one feature matches; ask for what tells them apart"}
	case typeOf(all[0]) != "Feature":
		return transform.Value{}, &fault{classify.CodeBadResponse, what + ": the collection holds what is no feature"}
	default:
		return all[0], nil
	}
}

// stacItem returns an item of a STAC API (STAC 1.0), which is a GeoJSON feature of its own kind.
func stacItem(what string, answer transform.Value) (transform.Value, error) {
	if version, ok := child(answer, "stac_version"); typeOf(answer) != "Feature" || !ok || version.Kind() != transform.KindString {
		return transform.Value{}, &fault{classify.CodeBadResponse, what + ": the answer is no STAC item"}
	}
	return answer, nil
}

func typeOf(v transform.Value) string {
	t, _ := child(v, "type")
	return t.Text()
}
