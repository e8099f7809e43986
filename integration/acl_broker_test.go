package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// aclUsers is the number of principals of the broker. Each row of the matrix uses one.
const aclUsers = 300

// aclBroker is a broker with ACLs. Apart from the test itself, a principal has only its granted permissions.
type aclBroker struct {
	*broker.Owned
	admin    *kadm.Client
	nextUser atomic.Int32
}

// startACLBroker starts a broker with ACLs.
func startACLBroker(t *testing.T) *aclBroker {
	t.Helper()
	needRealKafka(t)
	users := make([]string, aclUsers)
	for i := range users {
		users[i] = userName(i)
	}
	ctx := testrun.Context(t, 5*time.Minute)
	kafka := must.Get(broker.Own(ctx, broker.Guarded(users)))(t)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(kafka.Addr)))(t)
	t.Cleanup(func() {
		client.Close()
		expect.Do(t, kafka.Close(false))
	})
	return &aclBroker{Owned: kafka, admin: kadm.NewClient(client)}
}

func userName(i int) string { return fmt.Sprintf("user%d", i) }

// permission is one operation of a printed grant.
type permission struct {
	role  acls.Role
	grant acls.Grant
	op    acls.Operation
}

// confinedPipe is a pipeline whose commands connect as their own principal, with only the permissions that the test
// granted.
type confinedPipe struct {
	*pipe
	kafka *aclBroker
	user  string
}

// everyResource adds a governance header and a reference set in a topic, so that the pipeline uses every resource of the
// ACL table.
func everyResource(s *settings) {
	s.More = "governance: { care: { header: care, deny: [ceremonial] } }\n"
	s.Transform = "  - { from: id, to: known, type: string, on_error: null, references: { set: known } }\n  references: [{ name: known, topic: " + s.ID + ".known }]"
}

// newConfined creates the topics of a pipeline and assigns a principal without permissions.
func newConfined(t *testing.T, kafka *aclBroker, change ...func(*settings)) *confinedPipe {
	t.Helper()
	return prepareConfined(t, kafka, change...).create()
}

func prepareConfined(t *testing.T, kafka *aclBroker, change ...func(*settings)) *confinedPipe {
	t.Helper()
	quick := func(s *settings) {
		s.Metrics, s.Partitions, s.Session, s.Tiers, s.MaxAttempts = "127.0.0.1:0", 1, "6s", []time.Duration{200 * time.Millisecond}, 3
	}
	p := newPipeOn(t, []string{kafka.Addr}, 2*time.Minute, append([]func(*settings){quick, everyResource}, change...)...)
	return &confinedPipe{p, kafka, userName(int(kafka.nextUser.Add(1)) - 1)}
}

// create creates the topics as the administrator. Later commands connect as the principal.
func (w *confinedPipe) create() *confinedPipe {
	w.t.Helper()
	w.ensure()
	must.Do(w.t, w.log.Create(w.ctx, w.set.ID+".known", 1, map[string]string{"cleanup.policy": "compact"}))
	w.sendRecords(&kgo.Record{Topic: w.set.ID + ".known", Key: []byte("x"), Value: []byte("x")})
	return w.confine()
}

// confine writes the pipeline file with the principal's credentials.
func (w *confinedPipe) confine() *confinedPipe {
	w.t.Helper()
	w.set.Brokers, w.set.Kafka = []string{w.kafka.Behind}, w.sasl()
	w.write()
	return w
}

// sasl returns the principal's SASL settings for the pipeline file.
func (w *confinedPipe) sasl() string {
	w.t.Helper()
	password := filepath.Join(w.t.TempDir(), "password")
	must.Do(w.t, os.WriteFile(password, []byte(w.user), 0o600))
	return fmt.Sprintf("sasl: { mechanism: PLAIN, username: %s, password_file: %q }", w.user, password)
}

func (w *confinedPipe) principal() string { return "User:" + w.user }

// printedPermissions returns the permissions that the commands print for the roles.
func (w *confinedPipe) printedPermissions(roles ...acls.Role) (all []permission) {
	w.t.Helper()
	for _, role := range roles {
		args := []string{"consumer", "topics", "acls"}
		if role == acls.RoleReplayerRead || role == acls.RoleReplayerWrite {
			args = []string{"replayer", "acls"}
		}
		r := w.run(args[0], append(args[1:], "-c", w.file, "--principal", w.principal(), "--for", string(role), "-o", "json")...)
		all = append(all, w.parsePermissions(r)...)
	}
	return all
}

// parsePermissions parses the JSON output of a command that prints permissions.
func (w *confinedPipe) parsePermissions(r proc.Result) (all []permission) {
	w.t.Helper()
	var allowed acls.Allowed
	err := json.Unmarshal([]byte(r.Stdout), &allowed)
	must.That(w.t, err == nil && r.Code == 0, "%v: %s", err, r)
	for _, set := range allowed.Roles {
		for _, g := range set.Grants {
			for _, op := range g.Operations {
				all = append(all, permission{set.Role, g, op})
			}
		}
	}
	return all
}

var kafkaOperations = map[acls.Operation]kmsg.ACLOperation{
	acls.Read: kmsg.ACLOperationRead, acls.Write: kmsg.ACLOperationWrite, acls.Create: kmsg.ACLOperationCreate,
	acls.Delete: kmsg.ACLOperationDelete, acls.Describe: kmsg.ACLOperationDescribe, acls.DescribeConfigs: kmsg.ACLOperationDescribeConfigs,
}

// acl returns Kafka's ACL for a permission of the principal.
func (w *confinedPipe) acl(p permission) *kadm.ACLBuilder {
	b := kadm.NewACLs().Allow(w.principal()).AllowHosts("*").Operations(kafkaOperations[p.op])
	switch p.grant.Resource {
	case acls.Topic:
		b = b.Topics(p.grant.Name)
	case acls.Group:
		b = b.Groups(p.grant.Name)
	case acls.TransactionalID:
		b = b.TransactionalIDs(p.grant.Name)
	}
	if p.grant.Pattern == acls.Prefixed {
		return b.ResourcePatternType(kadm.ACLPatternPrefixed)
	}
	return b.ResourcePatternType(kadm.ACLPatternLiteral)
}

func (w *confinedPipe) grant(all ...permission) {
	w.t.Helper()
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			created, err := w.kafka.admin.CreateACLs(w.ctx, w.acl(p))
			for _, m := range created {
				if err == nil {
					err = m.Err
				}
			}
			expect.That(w.t, err == nil, "grant %v: %v", p, err)
		})
	}
	wg.Wait()
	for _, p := range all {
		w.waitForACLs(p, 1)
	}
}

// waitForACLs waits until the broker has this many ACLs for a permission. The broker applies a change after the
// controller has answered.
func (w *confinedPipe) waitForACLs(p permission, want int) {
	w.t.Helper()
	eventually.Until(w.ctx, w.t, fmt.Sprintf("%d rules of %v", want, p), func() (bool, string) {
		found, err := w.kafka.admin.DescribeACLs(w.ctx, w.acl(p))
		n := 0
		for _, f := range found {
			n += len(f.Described)
		}
		return err == nil && n == want, fmt.Sprint(n, " rules, ", err)
	})
}

func (w *confinedPipe) revoke(p permission) {
	w.t.Helper()
	deleted, err := w.kafka.admin.DeleteACLs(w.ctx, w.acl(p))
	n := 0
	for _, g := range deleted {
		if err == nil {
			err = g.Err
		}
		n += len(g.Deleted)
	}
	must.That(w.t, err == nil && n == 1, "take %v: %d rules, %v", p, n, err)
	w.waitForACLs(p, 0)
}

// sendDenied produces a record that governance refuses.
func (w *confinedPipe) sendDenied(prefix string) {
	w.t.Helper()
	w.sendRecords(&kgo.Record{
		Topic: w.topics.Source, Key: []byte(prefix + "-sacred"), Value: []byte(feature(prefix + "-sacred")), Headers: []kgo.RecordHeader{{Key: "care", Value: []byte("ceremonial")}},
	})
}
