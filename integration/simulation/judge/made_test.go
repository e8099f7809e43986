package judge

import (
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func linkOf(t *testing.T, r *kgo.Record) (link Link) {
	t.Helper()
	must.Do(t, json.Unmarshal(r.Value, &link))
	return link
}

func textOf(t *testing.T, link Link) []byte {
	t.Helper()
	text := must.Get(json.Marshal(link))(t)
	return text
}
