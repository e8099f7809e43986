package consumer

import (
	"math"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// S3-7: energy is CPU seconds times watts, CO2 is energy times the grid's intensity, shared among the attempts.
func TestMeter_S3_7_sharesMeasuredCPUSeconds(t *testing.T) {
	spent := time.Duration(0)
	m := &meter{rule: config.Energy{WattsPerCPU: 36, GridGramsPerKWh: 500}, cpu: func() (time.Duration, bool) { return spent, true }}
	spent = 20 * time.Second // 36 W for 20 s are 0.2 Wh, 0.1 g
	if got := m.share(4); !got.measured || math.Abs(got.wattHours-0.05) > 1e-12 || math.Abs(got.grams-0.025) > 1e-12 {
		t.Errorf("%+v", got)
	}
	if got := m.share(1); got.wattHours != 0 {
		t.Errorf("nothing was spent since: %+v", got)
	}
	m.rule.WattsPerCPU = 0
	if got := m.share(1); got.measured {
		t.Errorf("nobody asked: %+v", got)
	}
}
