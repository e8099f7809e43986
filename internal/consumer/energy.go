package consumer

import (
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// energy is the processor time, energy and CO2 of one attempt.
type energy struct {
	measured         bool // the configuration asks for it, and the system reports processor time
	wattHours, grams float64
}

// meter converts measured processor time into energy (S3-7). The time that the process spent between two commits is
// shared evenly among the attempts of the second one, and multiplied by the watts of a busy core. CO2 is energy times
// the grid's intensity. It measures the process, not the brokers and services that it calls.
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

// share returns the energy of each of n attempts since the last call.
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
