package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// DescribeGroup describes a consumer group. A group that does not exist, or that no coordinator knows yet, has no
// members and is no error.
func DescribeGroup(ctx context.Context, admin *kadm.Client, group string) (kadm.DescribedGroup, error) {
	described, err := admin.DescribeGroups(ctx, group)
	g := described[group]
	switch err = cmp.Or(err, g.Err); {
	case errors.Is(err, kerr.GroupIDNotFound), errors.Is(err, kerr.CoordinatorNotAvailable):
		return kadm.DescribedGroup{Group: group}, nil
	case err != nil:
		return g, fmt.Errorf("members of group %s: %w", group, DeniedGroup("Describe", group, err))
	}
	return g, nil
}
