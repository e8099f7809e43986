package deploy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The table that the compose file makes is the one that its consumers write: the statements are those of consumer sink ddl.
func TestCompose_S0_6_theTableIsThatOfTheConsumers(t *testing.T) {
	var file composeFile
	load(t, "compose.sink.yaml", &file)
	pipeline := must.Get(os.ReadFile("config.compose.yaml"))(t)
	statements := must.Get(os.ReadFile("sink.sql"))(t)
	for _, name := range []string{"consumer-1", "consumer-2"} {
		s := file.Services[name]
		cfg := must.Get(config.Parse("config.compose.yaml", pipeline, func(variable string) string { return s.Environment[variable] }))(t)
		must.That(t, cfg.Sink.PostGIS != nil && s.Environment[cfg.Sink.PostGIS.DSNEnv] != "" && s.DependsOn["table"].Condition == "service_completed_successfully",
			"%s has no table, no connection string for it, or does not wait for it: %+v", name, s)
		want := must.Get(sink.DDL(cfg))(t)
		expect.That(t, string(statements) == want, "sink.sql is not what consumer sink ddl prints for %s:\n%s", name, want)
	}
	mounts := strings.Join(file.Services["table"].Volumes, " ")
	expect.That(t, strings.HasPrefix(mounts, "./sink.sql:"), "the statements are not mounted: %s", mounts)
}
