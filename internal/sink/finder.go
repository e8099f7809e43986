package sink

import (
	"context"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Finder maps record keys to rows of the table by the rule of sink.key.
type Finder struct {
	Rule config.SinkKey
	// Path reads the guard's name of a record key and its row key from a path into the key. It is asked if the rule is a path.
	Path func(ctx context.Context, recordKey []byte) (guard, row []byte, err error)
}

// Find returns the guard's name of a record key and the key of the feature's row. The row key is nil if the record key itself finds the
// row, and for a delete of a feature: the guard has it.
func (f Finder) Find(ctx context.Context, recordKey []byte, feature *transform.Feature) (guard, row []byte, err error) {
	switch {
	case f.Rule == config.SinkKeyRecord:
		return recordKey, nil, nil
	case f.Rule == config.SinkKeyFeature && feature == nil:
		return GuardKey(recordKey), nil, nil
	case f.Rule == config.SinkKeyFeature:
		return GuardKey(recordKey), []byte(feature.IDString()), nil
	}
	guard, row, err = f.Path(ctx, recordKey)
	return guard, row, classify.WithStage(classify.StageSink, err)
}
