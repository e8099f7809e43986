package policy_test

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Every category of failures may have a policy of its own: the delay of attempt n of category c.
func ExamplePolicies() {
	policies := policy.Policies{
		Default:    policy.Policy{MaxAttempts: 4},
		ByCategory: map[classify.Category]policy.Policy{classify.CategoryTimeout: policy.PresetSTAC.Policy()},
	}
	tiers := []policy.Tier{{Topic: "f.retry-2s", Delay: 2 * time.Second}, {Topic: "f.retry-8s", Delay: 8 * time.Second}}
	for _, category := range []classify.Category{classify.CategoryNetwork, classify.CategoryTimeout} {
		chosen := policies.For(category)
		for attempt := 1; attempt < chosen.MaxAttempts; attempt++ {
			least, most := chosen.Bounds(attempt, tiers)
			fmt.Println(category, attempt, least, most)
		}
	}
	// Output:
	// network 1 2s 3s
	// network 2 8s 9s
	// network 3 8s 9s
	// timeout 1 500ms 1s
	// timeout 2 1s 2s
	// timeout 3 2s 4s
}
