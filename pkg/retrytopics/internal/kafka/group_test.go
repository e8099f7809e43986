package kafka

import (
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// S3-1: a member is not foreign if it consumes the source, is this instance, or has no known topics during a rebalance.
func TestForeignMembers_S3_1_consumeSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group []groupMember
		want  []string
	}{
		"nobody":                           {nil, nil},
		"another instance":                 {[]groupMember{{"two", "/b", []string{"features", "features.retry-2s"}}}, nil},
		"other tiers":                      {[]groupMember{{"two", "/b", []string{"features", "features.retry-9s"}}}, nil},
		"in a rebalance":                   {[]groupMember{{"two", "/b", nil}}, nil},
		"itself, before it was renamed":    {[]groupMember{{"one", "/a", []string{"parcels"}}}, nil},
		"another pipeline":                 {[]groupMember{{"two", "/b", []string{"features"}}, {"x", "/c", []string{"parcels", "parcels.retry-2s"}}}, []string{"x on /c consumes parcels, parcels.retry-2s"}},
		"another pipeline, with our tiers": {[]groupMember{{"x", "/c", []string{"features.retry-2s"}}}, []string{"x on /c consumes features.retry-2s"}},
	} {
		got := foreignMembers(c.group, "features", "one")
		expect.That(t, slices.Equal(got, c.want), "%v: %q, want %q", name, got, c.want)
	}
}
