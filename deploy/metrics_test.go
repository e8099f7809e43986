package deploy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// exportedMetrics returns the names of the metrics that internal/telemetry registers, read from its
// source: a histogram also under the names that Prometheus stores.
func exportedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	name := regexp.MustCompile(`^switchback_[a-z_]+$`)
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages := must.Get(parser.ParseDir(token.NewFileSet(), "../internal/telemetry", notTest, parser.SkipObjectResolution))(t)
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !name.MatchString(text) {
				return true
			}
			known[text] = true
			if strings.HasSuffix(text, "_seconds") {
				known[text+"_bucket"], known[text+"_count"], known[text+"_sum"] = true, true, true
			}
			return true
		})
	}
	must.That(t, len(known) >= 10, "found only %d metrics in internal/telemetry", len(known))
	return known
}

// Every metric has a row on the page of metrics.
func TestMetricsPage_lists_every_metric(t *testing.T) {
	text := must.Get(os.ReadFile(metricsPage))(t)
	for name := range exportedMetrics(t) {
		if regexp.MustCompile(`_(bucket|count|sum)$`).MatchString(name) {
			continue
		}
		expect.That(t, strings.Contains(string(text), "`"+name), "%s does not list %s", metricsPage, name)
	}
}
