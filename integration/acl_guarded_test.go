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

// guardedUsers is how many principals the broker knows; a row of the matrix takes one.
const guardedUsers = 300

// guarded is a broker with ACLs. Nobody but the test may do anything that was not granted.
type guarded struct {
	*broker.Owned
	admin *kadm.Client
	taken atomic.Int32
}

// guardedKafka starts a broker with ACLs.
func guardedKafka(t *testing.T) *guarded {
	t.Helper()
	needRealKafka(t)
	users := make([]string, guardedUsers)
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
	return &guarded{Owned: kafka, admin: kadm.NewClient(client)}
}

func userName(i int) string { return fmt.Sprintf("user%d", i) }

// permission is one operation of a printed grant.
type permission struct {
	role  acls.Role
	grant acls.Grant
	op    acls.Operation
}

// ward is a pipe whose commands come as a principal of their own, with no more than is granted to it.
type ward struct {
	*pipe
	kafka *guarded
	user  string
}

// everyResource adds a header by which records are refused and a reference set in a topic, so that every resource of the table is in
// use.
func everyResource(s *settings) {
	s.More = "governance: { care: { header: care, deny: [ceremonial] } }\n"
	s.Transform = "  - { from: id, to: known, type: string, on_error: null, references: { set: known } }\n  references: [{ name: known, topic: " + s.ID + ".known }]"
}

// newWard makes the topics of a pipe and takes a principal that has no permission yet.
func newWard(t *testing.T, kafka *guarded, change ...func(*settings)) *ward {
	t.Helper()
	return prepareWard(t, kafka, change...).create()
}

func prepareWard(t *testing.T, kafka *guarded, change ...func(*settings)) *ward {
	t.Helper()
	quick := func(s *settings) {
		s.Metrics, s.Partitions, s.Session, s.Tiers, s.MaxAttempts = "127.0.0.1:0", 1, "6s", []time.Duration{200 * time.Millisecond}, 3
	}
	p := newPipeOn(t, []string{kafka.Addr}, 2*time.Minute, append([]func(*settings){quick, everyResource}, change...)...)
	return &ward{p, kafka, userName(int(kafka.taken.Add(1)) - 1)}
}

// create makes the topics, as the test, and lets the commands come as the principal.
func (w *ward) create() *ward {
	w.t.Helper()
	w.ensure()
	must.Do(w.t, w.log.Create(w.ctx, w.set.ID+".known", 1, map[string]string{"cleanup.policy": "compact"}))
	w.sendRecords(&kgo.Record{Topic: w.set.ID + ".known", Key: []byte("x"), Value: []byte("x")})
	return w.confine()
}

// confine writes the file as the principal has it.
func (w *ward) confine() *ward {
	w.t.Helper()
	w.set.Brokers, w.set.Kafka = []string{w.kafka.Behind}, w.sasl()
	w.write()
	return w
}

// sasl is how a configuration says that the principal connects.
func (w *ward) sasl() string {
	w.t.Helper()
	password := filepath.Join(w.t.TempDir(), "password")
	must.Do(w.t, os.WriteFile(password, []byte(w.user), 0o600))
	return fmt.Sprintf("sasl: { mechanism: PLAIN, username: %s, password_file: %q }", w.user, password)
}

func (w *ward) principal() string { return "User:" + w.user }

// printed gives what the commands print for roles.
func (w *ward) printed(roles ...acls.Role) (all []permission) {
	w.t.Helper()
	for _, role := range roles {
		args := []string{"consumer", "topics", "acls"}
		if role == acls.RoleReplayerRead || role == acls.RoleReplayerWrite {
			args = []string{"replayer", "acls"}
		}
		r := w.run(args[0], append(args[1:], "-c", w.file, "--principal", w.principal(), "--for", string(role), "-o", "json")...)
		all = append(all, w.permissions(r)...)
	}
	return all
}

// permissions reads what a command printed as JSON.
func (w *ward) permissions(r proc.Result) (all []permission) {
	w.t.Helper()
	var said acls.Allowed
	err := json.Unmarshal([]byte(r.Stdout), &said)
	must.That(w.t, err == nil && r.Code == 0, "%v: %s", err, r)
	for _, set := range said.Roles {
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

// rule gives a permission as Kafka's rule for the principal.
func (w *ward) rule(p permission) *kadm.ACLBuilder {
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

func (w *ward) grant(all ...permission) {
	w.t.Helper()
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			made, err := w.kafka.admin.CreateACLs(w.ctx, w.rule(p))
			for _, m := range made {
				if err == nil {
					err = m.Err
				}
			}
			expect.That(w.t, err == nil, "grant %v: %v", p, err)
		})
	}
	wg.Wait()
	for _, p := range all {
		w.inForce(p, 1)
	}
}

// inForce waits until the broker has so many rules of a permission: it learns of a change after the controller's answer.
func (w *ward) inForce(p permission, want int) {
	w.t.Helper()
	eventually.Until(w.ctx, w.t, fmt.Sprintf("%d rules of %v", want, p), func() (bool, string) {
		found, err := w.kafka.admin.DescribeACLs(w.ctx, w.rule(p))
		n := 0
		for _, f := range found {
			n += len(f.Described)
		}
		return err == nil && n == want, fmt.Sprint(n, " rules, ", err)
	})
}

func (w *ward) take(p permission) {
	w.t.Helper()
	gone, err := w.kafka.admin.DeleteACLs(w.ctx, w.rule(p))
	n := 0
	for _, g := range gone {
		if err == nil {
			err = g.Err
		}
		n += len(g.Deleted)
	}
	must.That(w.t, err == nil && n == 1, "take %v: %d rules, %v", p, n, err)
	w.inForce(p, 0)
}

// sendSacred produces a record that governance refuses.
func (w *ward) sendSacred(prefix string) {
	w.t.Helper()
	w.sendRecords(&kgo.Record{
		Topic: w.topics.Source, Key: []byte(prefix + "-sacred"), Value: []byte(feature(prefix + "-sacred")), Headers: []kgo.RecordHeader{{Key: "care", Value: []byte("ceremonial")}},
	})
}
