package consumer

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// energy is what one attempt took.
type energy struct {
	measured         bool // the configuration asks for it and the system tells CPU seconds
	wattHours, grams float64
}

// meter turns measured CPU seconds of the process into energy (S3-7): what the process spent between two commits, shared
// evenly among the attempts that the second one finished, times the watts of a busy core; CO2 is that times the grid's
// intensity. It measures the process, not the brokers and services that it talks to.
type meter struct {
	rule config.Energy
	cpu  func() (time.Duration, bool)
	last time.Duration
}

func newMeter(rule config.Energy) *meter {
	m := &meter{rule: rule, cpu: cpuTime}
	m.last, _ = m.cpu()
	return m
}

// share gives the energy of each of n attempts since it was asked last.
func (m *meter) share(n int) energy {
	now, ok := m.cpu()
	if !ok || m.rule.WattsPerCPU == 0 || n == 0 {
		return energy{}
	}
	seconds := (now - m.last).Seconds() / float64(n)
	m.last = now
	wattHours := seconds * m.rule.WattsPerCPU / 3600
	return energy{true, wattHours, wattHours / 1000 * m.rule.GridGramsPerKWh}
}
