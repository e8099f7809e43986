package devbroker_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// start starts a broker that ends with the test, and a client.
func start(t *testing.T, o devbroker.Options, opts ...kgo.Opt) (*devbroker.Broker, *kgo.Client) {
	t.Helper()
	b := must.Get(devbroker.Start(o))(t)
	t.Cleanup(b.Close)
	cl := must.Get(kgo.NewClient(append(opts, kgo.SeedBrokers(b.Addr()))...))(t)
	t.Cleanup(cl.Close)
	return b, cl
}

func create(t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	must.Get(kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, nil, topic))(t)
}

func port(t *testing.T, addr string) int {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	must.Do(t, err)
	n := must.Get(strconv.Atoi(p))(t)
	return n
}

func TestStart_port_in_use_says_which_and_the_flag(t *testing.T) {
	first, _ := start(t, devbroker.Options{})
	taken := port(t, first.Addr())
	_, err := devbroker.Start(devbroker.Options{Port: taken})
	var fault *devbroker.PortError
	must.That(t, errors.As(err, &fault) && fault.InUse() && fault.Port == taken, "Start on a port in use: %v, want a *PortError", err)
	for _, want := range []string{strconv.Itoa(taken), "is in use", "--port"} {
		expect.That(t, strings.Contains(err.Error(), want), "%q does not contain %q", err, want)
	}
}

func TestStart_refuses_when_real_brokers_are_configured(t *testing.T) {
	_, err := devbroker.Start(devbroker.Options{ConfiguredBrokers: []string{"", "kafka-1.example:9092"}})
	var refused *devbroker.RealBrokersError
	must.That(t, errors.As(err, &refused) && strings.Contains(err.Error(), "kafka-1.example:9092"), "Start = %v, want a *RealBrokersError that names the broker", err)
}

func TestStart_an_empty_broker_entry_is_none(t *testing.T) {
	start(t, devbroker.Options{ConfiguredBrokers: []string{""}})
}

func TestBroker_listens_on_the_loopback_only(t *testing.T) {
	b, _ := start(t, devbroker.Options{})
	host, _, _ := net.SplitHostPort(b.Addr())
	expect.That(t, host == "127.0.0.1", "listens on %s, want 127.0.0.1", host)
}

func TestBroker_creates_no_topic_by_itself(t *testing.T) {
	_, cl := start(t, devbroker.Options{}, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(0))
	err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "never-made", Value: []byte("x")}).FirstErr()
	expect.That(t, err != nil, "a record to a missing topic was accepted")
}

func TestBroker_hides_the_request_that_breaks_the_Java_admin(t *testing.T) {
	_, cl := start(t, devbroker.Options{})
	res := must.Get(kmsg.NewPtrApiVersionsRequest().RequestWith(t.Context(), cl))(t)
	for _, key := range res.ApiKeys {
		expect.That(t, key.ApiKey != 75, "DescribeTopicPartitions is offered")
	}
	expect.That(t, len(res.ApiKeys) >= 40, "only %d kinds of request are offered", len(res.ApiKeys))
}

func TestBroker_data_folder_survives_a_restart_on_another_port(t *testing.T) {
	dir := t.TempDir()
	b, cl := start(t, devbroker.Options{DataDir: dir})
	create(t, cl, "features")
	must.Do(t, cl.ProduceSync(t.Context(), &kgo.Record{Topic: "features", Value: []byte("kept")}).FirstErr())
	cl.Close()
	b.Close()
	again, _ := start(t, devbroker.Options{DataDir: dir})
	got := readAll(t, again.Addr(), "features")
	expect.That(t, len(got) == 1 && got[0] == "kept", "after the restart: %q", got)
}

// readAll returns the values of the committed records of a topic.
func readAll(t *testing.T, addr, topic string) []string {
	t.Helper()
	records := must.Get(topiclog.Connect(t, []string{addr}).Read(t.Context(), topic))(t)
	var values []string
	for _, r := range records {
		values = append(values, string(r.Value))
	}
	return values
}
