package judge

import (
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func linkOf(t *testing.T, r *kgo.Record) (link Link) {
	t.Helper()
	if err := json.Unmarshal(r.Value, &link); err != nil {
		t.Fatal(err)
	}
	return link
}

func textOf(t *testing.T, link Link) []byte {
	t.Helper()
	text, err := json.Marshal(link)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
