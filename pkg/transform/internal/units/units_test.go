package units

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestUnits_every_unit_converts_back(t *testing.T) {
	for _, from := range table() {
		for _, to := range table() {
			if from.Quantity != to.Quantity {
				continue
			}
			there, back := Between(from, to), Between(to, from)
			x := back.Convert(there.Convert(12.5))
			expect.That(t, x >= 12.499999999 && x <= 12.500000001, "%s: 12.5 %s are %v after %s", from.Quantity, from.Name, x, to.Name)
		}
	}
}
