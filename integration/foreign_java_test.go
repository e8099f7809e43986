package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/jars"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// The libraries whose dead letters are read. foreign/pom.xml lists them for Maven.
const (
	springKafka  = "4.1.1"
	foreignKafka = "4.2.1" // Kafka Connect and Kafka Streams
)

// java is a class path with the programs of the folder foreign, compiled.
type java struct {
	bin, classes, libs string
}

// theJava compiles the programs of the folder foreign against the real libraries. Where a real
// broker is demanded, so are they.
func theJava(t *testing.T, w *world) java {
	t.Helper()
	if !w.kafka.Real() {
		t.Skip("Java's libraries are tried against a real broker only: " + broker.EnvForce + "=kafka demands one")
	}
	pom := must.Get(os.ReadFile(filepath.Join("foreign", "pom.xml")))(t)
	for _, version := range []string{"<artifactId>spring-kafka</artifactId><version>" + springKafka + "<", "<artifactId>kafka-streams</artifactId><version>" + foreignKafka + "<"} {
		must.That(t, strings.Contains(string(pom), version), "foreign/pom.xml does not hold %s", version)
	}
	missing := t.Skipf
	if broker.Forced() {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("javac"); err != nil {
		missing("the dead letters of Java's libraries cannot be made: %v", err)
	}
	libs, err := jars.Set{Name: "foreign-spring-kafka-" + springKafka + "-kafka-" + foreignKafka, POM: pom}.Fetch(t.Context(), broker.Forced())
	if err != nil {
		missing("the dead letters of Java's libraries cannot be made: %v", err)
	}
	j := java{classes: t.TempDir(), libs: filepath.Join(libs, "*")}
	if j.bin, err = exec.LookPath("java"); err != nil {
		t.Fatalf("javac is there and java is not: %v", err)
	}
	j.compile(t)
	said := must.Get(exec.CommandContext(t.Context(), j.bin, "-version").CombinedOutput())(t)
	version, _, _ := strings.Cut(string(said), "\n")
	fmt.Printf("dead letters by: Spring Kafka %s, Kafka Connect %s, Kafka Streams %s on %s\n",
		springKafka, foreignKafka, foreignKafka, strings.ReplaceAll(version, `"`, ""))
	return j
}

// compileAll compiles the programs that a pattern matches.
func (j java) compileAll(t *testing.T, pattern string) {
	t.Helper()
	sources, err := filepath.Glob(pattern)
	must.That(t, err == nil && len(sources) != 0, "no programs at %s: %v", pattern, err)
	args := append([]string{"-d", j.classes, "-cp", j.libs, "--release", "17", "-proc:none", "-parameters"}, sources...)
	if out, err := exec.CommandContext(t.Context(), "javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
}

func (j java) compile(t *testing.T) {
	t.Helper()
	j.compileAll(t, filepath.Join("foreign", "*.java"))
	must.Do(t, os.CopyFS(filepath.Join(j.classes, "META-INF"), os.DirFS(filepath.Join("foreign", "META-INF"))))
}

// start starts a program that runs until the test ends.
func (j java) start(t *testing.T, class string, args ...string) *proc.Process {
	t.Helper()
	flags := []string{
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", j.classes + string(os.PathListSeparator) + j.libs, class,
	}
	return proc.Start(t, proc.Spec{Path: j.bin, Args: append(flags, args...), Dir: t.TempDir()})
}
