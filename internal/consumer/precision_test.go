package consumer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// readAll hands the consumer features with coordinates of so many decimals, and gives the first error and how many came before it.
func readAll(c *Consumer, n, decimals int, control header.Control, headers ...kgo.RecordHeader) (error, int) {
	for i := range n {
		at := header.Position{Topic: "parcels", Offset: int64(i)}
		r := &retrytopics.Record{Position: at, Source: at, Attempt: 1, Control: &control, Headers: headers}
		f := &transform.Feature{}
		scale := math.Pow10(decimals)
		f.Geometry.Shape = orb.Point{math.Round((9+float64(i+1)*math.Pi/1000)*scale) / scale, math.Round((47+float64(i+1)*math.E/1000)*scale) / scale}
		if err := c.read(r, 0, f); err != nil {
			return err, i
		}
	}
	return nil, n
}

// S0-9: below the floor a record fails with a code that holds the pipeline by default. What a person sends again passes.
func TestRead_S0_9_belowTheFloor(t *testing.T) {
	c := newConsumer(t, "precision_decimal_threshold: 6")
	if err, n := readAll(c, 1000, 7, header.Control{}); err != nil {
		t.Fatalf("honest record %d: %v", n, err)
	}
	err, n := readAll(c, 1000, 4, header.Control{})
	var e *transform.Error
	if !errors.As(err, &e) || e.Code != classify.CodePrecisionDegraded || n < 20 || n > 26 {
		t.Fatalf("after %d: %v", n, err)
	}
	if !c.cfg.Pipeline.Tolerance.HoldsAtOnce(classify.New(c.cfg.Pipeline.RetryPolicy.Classification()).Of(err)) {
		t.Error("it does not hold the pipeline")
	}
	for _, part := range []string{"pipeline.tolerance.precision_decimal_threshold", "of the last 100 ordinates", "transform.geometry.round_decimals"} {
		if !strings.Contains(e.Error(), part) && !strings.Contains(e.Fix, part) {
			t.Errorf("the message does not say %s: %v; %s", part, e, e.Fix)
		}
	}
	if err, n := readAll(c, 1000, 4, header.Control{DeadLetterID: "d"}); err != nil {
		t.Errorf("replayed dead letter %d: %v", n, err)
	}
	c.orders.onResume()
	if err, n := readAll(c, 1000, 7, header.Control{}); err != nil {
		t.Errorf("after a person has resumed it, honest record %d: %v", n, err)
	}
}

// Without the key nothing is held, and the precision is measured.
func TestRead_S0_9_noFloorIsAMetric(t *testing.T) {
	c := newConsumer(t, "max_dead_letter_rate: 1")
	if err, _ := readAll(c, 1000, 4, header.Control{}); err != nil {
		t.Error(err)
	}
	families := must.Get(c.registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == "switchback_coordinate_decimals" {
			if got := f.GetMetric()[0].GetGauge().GetValue(); got != 4 {
				t.Errorf("%v decimals", got)
			}
			return
		}
	}
	t.Error("no metric")
}

// S4-1: a batch below the floor is quarantined, and the record that shows it is not delivered.
func TestRead_S4_1_batchBelowTheFloor(t *testing.T) {
	for on, code := range map[string]classify.Code{"quarantine": classify.CodeBatchQuarantined, "hold": classify.CodePrecisionDegraded} {
		t.Run(on, func(t *testing.T) {
			c := newConsumer(t, fmt.Sprintf("precision_decimal_threshold: 6, on_batch: %s", on))
			err, n := readAll(c, 1000, 4, header.Control{}, kgo.RecordHeader{Key: batchHeader, Value: []byte("b-17")})
			var e *transform.Error
			if !errors.As(err, &e) || e.Code != code || n > 26 || !strings.Contains(err.Error(), "of batch b-17") {
				t.Errorf("after %d: %v", n, err)
			}
			if err, n := readAll(c, 1000, 7, header.Control{}); err != nil {
				t.Errorf("record %d of no batch: %v", n, err)
			}
		})
	}
}
