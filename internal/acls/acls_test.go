package acls

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const file = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 2, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
transform: { unmapped: drop, fields: [{ from: id, to: id }] }
`

func load(t *testing.T, more string) *config.Config {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipeline.yaml")
	must.Do(t, os.WriteFile(name, []byte(file+more), 0o600))
	return must.Get(config.Load(name))(t)
}

// line formats the grants of one resource as "Read Write".
func line(all []Grant, resource Resource, name string) string {
	var words []string
	for _, g := range all {
		if g.Resource == resource && g.Name == name {
			for _, o := range g.Operations {
				words = append(words, string(o))
			}
		}
	}
	return strings.Join(words, " ")
}

func TestOf_S4_15_followsTheConfiguration(t *testing.T) {
	plain, dedupeOff := load(t, ""), load(t, "dedupe: { window: 0s }\nordering: { mode: none }\ndelivery: at_least_once\n")
	versioned := load(t, "source: { version: properties.updated }\n")
	for _, c := range []struct {
		what     string
		cfg      *config.Config
		role     Role
		resource Resource
		name     string
		want     string
	}{
		{"source", plain, RoleRun, Topic, "parcels", "Read DescribeConfigs"},
		{"tier", plain, RoleRun, Topic, "parcels.retry-2s", "Write"},
		{"tiers, including former ones", plain, RoleRun, Topic, "parcels.retry-", "Read Delete DescribeConfigs"},
		{"DLQ", plain, RoleRun, Topic, "parcels.dlq", "Read Write DescribeConfigs"},
		{"ledger", plain, RoleRun, Topic, "parcels.ledger", "Read Write DescribeConfigs"},
		{"ledger without a window", dedupeOff, RoleRun, Topic, "parcels.ledger", "Describe DescribeConfigs"},
		{"transactional ids", plain, RoleRun, TransactionalID, "parcels-", "Write"},
		{"no transactions", dedupeOff, RoleRun, TransactionalID, "parcels-", ""},
		{"group", plain, RoleRun, Group, "parcels", "Read"},
		{"ensure", plain, RoleTopics, Topic, "parcels.audit", "Create Describe DescribeConfigs"},
		{"adopt reads the memory", plain, RoleAdopt, Topic, "parcels.state", "Read Write"},
		{"adopt reads the tiers", plain, RoleAdopt, Topic, "parcels.retry-", "Read"},
		{"adopt deletes commits", plain, RoleAdopt, Group, "parcels", "Delete"},
		{"ensure reads the former tiers", plain, RoleTopics, Topic, "parcels.retry-", "Describe DescribeConfigs"},
		{"ensure asks for records that wait in them", plain, RoleTopics, Group, "parcels", "Describe"},
		{"status reads the former tiers", plain, RoleStatus, Topic, "parcels.retry-", "Describe"},
		{"status counts dead letters", plain, RoleStatus, Topic, "parcels.dlq", "Read"},
		{"pause", plain, RoleControl, TransactionalID, "parcels-control", "Write"},
		{"status", plain, RoleStatus, Group, "parcels", "Describe"},
		{"no governance", plain, RoleGovernance, Topic, "parcels.governance", ""},
		{"replayer reads the source", plain, RoleReplayerRead, Topic, "parcels", "Read"},
		{"replayer reads the order", plain, RoleReplayerRead, Topic, "parcels.state", "Read"},
		{"replayer reads the jobs", plain, RoleReplayerRead, Topic, "parcels.control", "Read"},
		{"replayer without an order", dedupeOff, RoleReplayerRead, Topic, "parcels.state", ""},
		{"replayer without versions", plain, RoleReplayerRead, Topic, "parcels.ledger", ""},
		{"replayer with versions", versioned, RoleReplayerRead, Topic, "parcels.ledger", "Read"},
		{"replayer writes", plain, RoleReplayerWrite, Topic, "parcels", "Read Write"},
		{"replayer prunes", plain, RoleReplayerWrite, Topic, "parcels.dlq", "Read Write Delete DescribeConfigs"},
		{"replayer's transaction", plain, RoleReplayerWrite, TransactionalID, "switchback-replayer-parcels", "Write"},
	} {
		expect.Equal(t, line(Of(c.cfg, c.role), c.resource, c.name), c.want, c.what, c.role, c.resource, c.name, "needs")
	}
}

func TestOfDLQ_S4_15_namesWhatTheReplayerKeepsAndWhereLettersGo(t *testing.T) {
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: "payments.DLT", Brokers: []string{"a:1"}}, nil, func(string) string { return "" }))(t)
	to := Targets{Topics: []string{"payments", "refunds"}, Groups: []string{"app"}}
	for _, c := range []struct {
		role     Role
		resource Resource
		name     string
		want     string
	}{
		{RoleReplayerRead, Topic, "payments.DLT", "Read DescribeConfigs"},
		{RoleReplayerRead, Topic, "payments.DLT.replayer-audit", "Read"},
		{RoleReplayerRead, Topic, "refunds", "Read DescribeConfigs"},
		{RoleReplayerRead, TransactionalID, "switchback-replayer-payments.DLT", ""},
		{RoleReplayerWrite, Topic, "payments.DLT", "Read DescribeConfigs"},
		{RoleReplayerWrite, Topic, "payments.DLT.replayer-audit", "Write Create"},
		{RoleReplayerWrite, Topic, "payments.DLT.replayer-control", "Read Write Create"},
		{RoleReplayerWrite, Topic, "payments", "Read Write DescribeConfigs"},
		{RoleReplayerWrite, Group, "app", "Describe"},
		{RoleReplayerWrite, TransactionalID, "switchback-replayer-payments.DLT", "Write"},
		{RoleReplayerWrite, TransactionalID, "payments.DLT.replayer-control", "Write"},
		{RoleRun, Topic, "payments.DLT", ""},
	} {
		expect.Equal(t, line(OfDLQ(cfg, c.role, to), c.resource, c.name), c.want, c.role, c.resource, c.name, "needs")
	}
}

// A real shell runs the commands: kafka-acls.sh is called with the arguments that the JSON has.
func TestWriteCommands_S4_15_areReadByAShell(t *testing.T) {
	cfg := load(t, "source: { group: \"it's $HOME; rm -rf x\" }\nkafka: { brokers: [\"a:1\", \"b:2\"] }\n")
	allowed := must.Get(For(cfg, "User:CN=o'neil $(id), O=x", "*", []Role{RoleRun}))(t)
	var text strings.Builder
	must.Do(t, allowed.WriteCommands(&text, cfg.Kafka))
	script := "kafka-acls.sh() { printf '%s\\n' \"$@\"; }\n" + strings.ReplaceAll(text.String(), "kafka-acls.sh ", "call ")
	script = strings.Replace(script, "kafka-acls.sh()", "call()", 1)
	out := must.Get(exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput())(t)
	words := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, want := range []string{
		"--bootstrap-server", "a:1,b:2", "--allow-principal=User:CN=o'neil $(id), O=x", "--allow-host=*", "--group=it's $HOME; rm -rf x",
		"--transactional-id=it's $HOME; rm -rf x-", "--topic=parcels.retry-60s", "prefixed",
	} {
		expect.That(t, slices.Contains(words, want), "%q is not one of %q", want, words)
	}
}

// No operation on a resource is granted twice, and everything that the roles need is granted.
func TestWriteCommands_S4_15_grantEachOnce(t *testing.T) {
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: "payments.DLT", Brokers: []string{"a:1"}}, nil, nil))(t)
	allowed := must.Get(ForDLQ(cfg, "User:desk", "*", ReplayerRoles(), Targets{Topics: []string{"payments"}, Groups: []string{"app"}}))(t)
	var text strings.Builder
	must.Do(t, allowed.WriteCommands(&text, cfg.Kafka))
	granted := map[string]int{}
	for line := range strings.Lines(text.String()) {
		var operations []string
		for word := range strings.FieldsSeq(strings.ReplaceAll(line, "--operation ", "--operation=")) {
			if operation, is := strings.CutPrefix(word, "--operation="); is {
				operations = append(operations, operation)
			} else if strings.HasPrefix(word, "--topic=") || strings.HasPrefix(word, "--group=") || strings.HasPrefix(word, "--transactional-id=") {
				for _, operation := range operations {
					granted[operation+" "+word]++
				}
			}
		}
	}
	for _, set := range allowed.Roles {
		for _, g := range set.Grants {
			for _, o := range g.Operations {
				what := string(o) + " --" + string(g.Resource) + "=" + g.Name
				expect.Equal(t, granted[what], 1, what, "is granted, in\n", text.String())
			}
		}
	}
}

func TestFor_refusesWhatIsNoPrincipal(t *testing.T) {
	cfg := load(t, "")
	for _, c := range [][2]string{{"orders", "*"}, {"", "*"}, {"User:", "*"}, {"User:a\nb", "*"}, {"User:a", ""}} {
		_, err := For(cfg, c[0], c[1], Roles())
		expect.That(t, err != nil, "principal %q, host %q: no error", c[0], c[1])
	}
}
