package deadletters

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestDecode_an_edit_names_its_original_and_is_no_death(t *testing.T) {
	control := header.Control{DeadLetterID: "a", ErrorCode: "wrong_type", HasSource: true, Source: header.Position{Topic: "f"}}
	record := func(offset int64, editOf string) *kgo.Record {
		r := &kgo.Record{Topic: "f.dlq", Offset: offset, Headers: control.AppendTo(nil)}
		if editOf != "" {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: HeaderEditOf, Value: []byte(editOf)})
		}
		return r
	}
	edit := Decode(record(1, "f.dlq/0/0"), true)
	if !edit.Edited() || edit.EditOf != (header.Position{Topic: "f.dlq"}) || edit.Deaths != 0 {
		t.Errorf("%+v", edit)
	}
	if broken := Decode(record(1, "nowhere"), true); broken.Edited() || len(broken.Problems) != 1 {
		t.Errorf("%+v", broken.Problems)
	}
}
