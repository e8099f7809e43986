package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// guardedBroker is one Kafka with ACLs for all tests of permissions. The first that asks for it starts it.
var guardedBroker struct {
	sync.Once
	*broker.Owned
	err error
}

// principal is who works, in all tests of permissions.
const principal = "User:app"

func theGuardedBroker(t *testing.T) *broker.Owned {
	t.Helper()
	b := &guardedBroker
	b.Do(func() {
		b.Owned, b.err = broker.Own(context.Background(), broker.OwnOptions{Settings: broker.Guarded(map[string]string{"app": "secret"})})
	})
	if broker.Absent(b.err) && !broker.Forced() {
		t.Skipf("needs a real broker of its own: %v", b.err)
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.Owned
}

// guarded is a pipeline on the broker with ACLs, whose commands may do what the test allows.
type guarded struct{ *pipe }

// permission is one operation on one resource.
type permission struct {
	resource  acls.Resource
	name      string
	pattern   acls.Pattern
	operation acls.Operation
}

func (p permission) String() string {
	return fmt.Sprintf("%s %s %s", p.operation, p.resource, p.name)
}

// words are what an error names: operation, resource and principal. Whoever lacks what implies Describe meets that first.
func (p permission) words(text string) bool {
	resource := strings.ReplaceAll(string(p.resource), "-", " ") + " " + p.name
	for _, operation := range []acls.Operation{p.operation, acls.Describe} {
		if strings.Contains(text, principal+" may not "+string(operation)+" "+resource) {
			return true
		}
	}
	return false
}

func newGuarded(t *testing.T, change ...func(*settings)) *guarded {
	t.Helper()
	b := theGuardedBroker(t)
	p := newPipe(t, 4*time.Minute, append([]func(*settings){func(s *settings) {
		s.Brokers, s.Partitions, s.Session = []string{b.Behind}, 1, "6s"
		s.Tiers, s.MaxAttempts = []time.Duration{200 * time.Millisecond}, 3
		s.More = "replayer: { index: { file: " + filepath.Join(t.TempDir(), "index.sqlite") + " } }\n"
	}}, change...)...)
	p.log = topiclog.Connect(t, []string{b.Addr})
	return &guarded{p}
}

// env has the credentials of the principal.
func (g *guarded) env() []string {
	return []string{"SWITCHBACK_KAFKA_SASL_MECHANISM=PLAIN", "SWITCHBACK_KAFKA_SASL_USERNAME=app", "SWITCHBACK_KAFKA_SASL_PASSWORD_ENV=APP_PASSWORD",
		"APP_PASSWORD=secret", "SWITCHBACK_ENGINE_TRANSACTION_TIMEOUT=3s", "SWITCHBACK_ENGINE_INSTANCE=it"}
}

func (g *guarded) command(name string, args ...string) proc.Result {
	g.t.Helper()
	return proc.Run(g.ctx, g.t, g.specOf(name, args...))
}

func (g *guarded) specOf(name string, args ...string) proc.Spec {
	return proc.Spec{Path: g.world.commands[name], Args: append(args, "-c", g.file), Dir: g.t.TempDir(), Env: g.env()}
}

// printed asks a command which permissions it prints.
func (g *guarded) printed(name string, args ...string) (all []permission) {
	g.t.Helper()
	r := g.command(name, append(args, "--principal", principal, "-o", "json")...)
	var allowed acls.Allowed
	if err := json.Unmarshal([]byte(r.Stdout), &allowed); err != nil || r.Code != 0 {
		g.t.Fatalf("%v: %v: %s", args, err, r)
	}
	for _, set := range allowed.Roles {
		for _, grant := range set.Grants {
			for _, operation := range grant.Operations {
				all = append(all, permission{grant.Resource, grant.Name, grant.Pattern, operation})
			}
		}
	}
	if len(all) == 0 {
		g.t.Fatalf("%v prints nothing: %s", args, r)
	}
	return all
}

func (p permission) builder() *kadm.ACLBuilder {
	operations := map[acls.Operation]kmsg.ACLOperation{
		acls.Read: kmsg.ACLOperationRead, acls.Write: kmsg.ACLOperationWrite, acls.Create: kmsg.ACLOperationCreate,
		acls.Delete: kmsg.ACLOperationDelete, acls.Describe: kmsg.ACLOperationDescribe, acls.DescribeConfigs: kmsg.ACLOperationDescribeConfigs,
	}
	b := kadm.NewACLs().Allow(principal).AllowHosts("*").Operations(operations[p.operation])
	switch p.resource {
	case acls.Topic:
		b = b.Topics(p.name)
	case acls.Group:
		b = b.Groups(p.name)
	case acls.TransactionalID:
		b = b.TransactionalIDs(p.name)
	}
	if p.pattern == acls.Prefixed {
		return b.ResourcePatternType(kadm.ACLPatternPrefixed)
	}
	return b.ResourcePatternType(kadm.ACLPatternLiteral)
}

// allow grants permissions and returns once the broker knows them.
func (g *guarded) allow(all ...permission) {
	g.t.Helper()
	for _, p := range all {
		made, err := g.log.Admin().CreateACLs(g.ctx, p.builder())
		if err == nil && len(made) > 0 {
			err = made[0].Err
		}
		if err != nil {
			g.t.Fatalf("allow %s: %v", p, err)
		}
	}
	for _, p := range all {
		g.until(p, true)
	}
}

// deny takes permissions away and returns once the broker knows it.
func (g *guarded) deny(all ...permission) {
	g.t.Helper()
	for _, p := range all {
		if _, err := g.log.Admin().DeleteACLs(g.ctx, p.builder()); err != nil {
			g.t.Fatalf("deny %s: %v", p, err)
		}
		g.until(p, false)
	}
}

func (g *guarded) until(p permission, there bool) {
	g.t.Helper()
	eventually.Until(g.ctx, g.t, fmt.Sprintf("%s allowed: %t", p, there), func() (bool, string) {
		found, err := g.log.Admin().DescribeACLs(g.ctx, p.builder())
		if err != nil || len(found) != 1 || found[0].Err != nil {
			return false, fmt.Sprintf("%v %v", found, err)
		}
		return (len(found[0].Described) > 0) == there, fmt.Sprint(len(found[0].Described))
	})
}

// endGuarded ends the broker with ACLs.
func endGuarded() error {
	if guardedBroker.Owned == nil {
		return nil
	}
	return guardedBroker.Close(false)
}
