package retrytopics_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// S0-4: an output topic that takes little takes what fits it; the rest is dead, each record by itself.
func TestEngine_S0_4_anOutputTopicThatTakesLittle(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{500, 2000, 2048, 3000, 20_000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			text := fmt.Sprint(limit)
			changed, err := kadm.NewClient(b.client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &text}}, output)
			if err != nil || changed[0].Err != nil {
				t.Fatal(err, changed)
			}
			records := events(40)
			for i, r := range records {
				switch {
				case i%10 == 3:
					r.Value = noise(limit + 1)
				case i%10 == 4:
					r.Value = noise(limit / 2)
				}
			}
			b.produce(records...)
			cfg := b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) { return copied(ctx, r) })
			cfg.Outputs = []string{output}
			b.drain(b.engine(cfg))
			dead := b.read(source + ".dlq")
			for _, r := range dead {
				if code := header(r, retrytopics.HeaderErrorCode); code != string(classify.CodeOutputTooLarge) || len(r.Value) <= limit {
					t.Errorf("dead letter %s of %d bytes: %s %s", r.Key, len(r.Value), code, header(r, retrytopics.HeaderErrorMessage))
				}
			}
			if out := len(b.read(output)); len(dead) != 4 || out != 36 {
				t.Errorf("%d dead letters, %d outputs", len(dead), out)
			}
		})
	}
}
