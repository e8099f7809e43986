package kafka

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestCopyValue_S0_5_writes_what_no_memory_holds(t *testing.T) {
	cl := client(t, cluster(t, kfake.SeedTopics(1, "one")))
	bomb := bombs.Record{Key: []byte("k"), Value: []byte(`{"type":"Feature"`), Blanks: 200 << 20}
	must.Get(bombs.Produce(t.Context(), cl, "t", 0, bombs.Batch(kgo.CodecGzip, time.UnixMilli(1_790_000_000_000), bomb)))(t)
	h := sha256.New()
	l, err := CopyValue(t.Context(), cl, header.Position{Topic: "t"}, h)
	if err != nil || l.Bytes != 200<<20+17 || string(l.Key) != "k" {
		t.Fatalf("%v, %v", l, err)
	}
	want := sha256.New()
	_, _ = want.Write([]byte(`{"type":"Feature"`))
	for range 200 {
		_, _ = want.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	if !bytes.Equal(h.Sum(nil), want.Sum(nil)) {
		t.Error("other bytes were written")
	}
	_, err = CopyValue(t.Context(), cl, header.Position{Topic: "t"}, failing{})
	if !errors.Is(err, errFull) || errors.Is(err, recordbatch.ErrNoRecord) || !strings.HasPrefix(err.Error(), "read t/0/0: ") {
		t.Errorf("%v", err)
	}
	if _, err = CopyValue(t.Context(), cl, header.Position{Topic: "one", Partition: 4}, io.Discard); fmt.Sprint(err) != "topic one has no partition 4" {
		t.Errorf("%v", err)
	}
}

var errFull = errors.New("no space")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
