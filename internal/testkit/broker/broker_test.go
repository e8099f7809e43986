package broker

import (
	"bytes"
	"strings"
	"testing"
)

func TestStart(t *testing.T) {
	t.Run("kfake_is_forced", func(t *testing.T) {
		t.Setenv(EnvForce, "kfake")
		t.Setenv(EnvBrokers, "127.0.0.1:1") // not even looked at
		b := start(t)
		if b.Kind != Kfake || b.Real() {
			t.Errorf("got %s, real %t; want kfake, not real", b, b.Real())
		}
	})
	t.Run("a_broker_asked_for_by_name_is_never_replaced", func(t *testing.T) {
		t.Setenv(EnvForce, "")
		t.Setenv(EnvBrokers, "127.0.0.1:1")
		if b, err := Start(short(t)); err == nil {
			t.Errorf("started %s in place of a broker that does not answer", b)
		}
	})
	t.Run("kfake_is_no_real_broker_by_being_named", func(t *testing.T) {
		t.Setenv(EnvForce, "kfake")
		fake := start(t)
		t.Setenv(EnvForce, "kafka")
		t.Setenv(EnvBrokers, fake.Addrs[0])
		_, err := Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "that is kfake") {
			t.Errorf("error %v, want one that says it is kfake", err)
		}
	})
	t.Run("an_unknown_word_is_refused", func(t *testing.T) {
		t.Setenv(EnvForce, "kafak")
		if _, err := Start(t.Context()); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a_forced_broker_that_cannot_be_had_is_an_error", func(t *testing.T) {
		t.Setenv(EnvForce, "kafka")
		t.Setenv(EnvBrokers, "")
		t.Setenv("PATH", t.TempDir())                    // no java, no mvn
		t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")     // no engine
		t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // nothing to look after
		if b, err := Start(t.Context()); err == nil {
			t.Errorf("started %s", b)
			_ = b.Close()
		} else if !strings.Contains(err.Error(), "java is not installed") {
			t.Errorf("error %q does not say what is missing", err)
		}
	})
}

func TestPomAndContainerRunTheSameKafka(t *testing.T) {
	if want := []byte("<artifactId>kafka_2.13</artifactId><version>" + kafkaVersion + "</version>"); !bytes.Contains(pom, want) {
		t.Errorf("kafka-pom.xml does not hold %s", want)
	}
}
