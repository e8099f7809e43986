package topics

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Check returns every fault of the plan's topics, in the order of the plan; none means that the pipeline can run. It
// changes nothing. The error means that the broker could not be asked.
func Check(ctx context.Context, admin *kadm.Client, plan []Topic) ([]Fault, error) {
	seen, err := observe(ctx, admin, plan)
	if err != nil {
		return nil, err
	}
	address, err := bootstrap(ctx, admin)
	if err != nil {
		return nil, err
	}
	return compare(plan, seen, address), nil
}
