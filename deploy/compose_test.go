package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// service is the part of a service that these tests check. The validator of the Compose Specification checks the
// whole file in .ci/run.
type service struct {
	Image string `yaml:"image"`
	Build *struct {
		Context, Dockerfile string
		Args                map[string]string
	}
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Health struct{ Test []string } `yaml:"healthcheck"`
}

type composeFile struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
}

func compose(t *testing.T) composeFile {
	t.Helper()
	var file composeFile
	load(t, "compose.yaml", &file)
	return file
}

func TestCompose_images_are_pinned_and_ports_are_local(t *testing.T) {
	services := compose(t).Services
	var more composeFile
	load(t, "compose.sink.yaml", &more)
	for name, s := range more.Services {
		if _, there := services[name]; !there { // else it adds to a service
			services[name] = s
		}
	}
	for name, s := range services {
		_, tag, _ := strings.Cut(s.Image, ":")
		expect.That(t, tag != "" && tag != "latest" && tag != "main", "%s: the image %q has no fixed version", name, s.Image)
		for _, p := range s.Ports {
			expect.That(t, strings.HasPrefix(p, "127.0.0.1:"), "%s: the port %s is open to the network, and nothing here has a password", name, p)
		}
	}
}

func TestCompose_what_it_names_exists(t *testing.T) {
	file := compose(t)
	for name, s := range file.Services {
		for other := range s.DependsOn {
			_, ok := file.Services[other]
			expect.That(t, ok, "%s depends on %s, which is not a service", name, other)
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, named := file.Volumes[source]; named {
				continue
			}
			info, err := os.Stat(source)
			expect.That(t, err == nil && !info.IsDir(), "%s mounts %s, which is not a file of this folder", name, source)
		}
		if s.Build != nil {
			_, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile))
			expect.That(t, err == nil, "%s: %v", name, err)
		}
	}
}

// Two processes with one transactional id fence each other forever.
func TestCompose_consumers_have_names_of_their_own(t *testing.T) {
	seen := map[string]string{}
	for name, s := range compose(t).Services {
		if !slices.Contains(s.Command, "run") {
			continue
		}
		instance := s.Environment["SWITCHBACK_ENGINE_INSTANCE"]
		other, taken := seen[instance]
		expect.That(t, !taken && instance != "", "%s: the instance %q is also that of %q", name, instance, other)
		seen[instance] = name
		expect.That(t, s.DependsOn["topics"].Condition == "service_completed_successfully", "%s does not wait for its topics; a group whose topics are missing never joins", name)
	}
	expect.That(t, len(seen) == 2, "found %d consumers, want 2", len(seen))
}

// Prometheus must find the consumers where they listen, under the name of their pipeline.
func TestCompose_prometheus_scrapes_the_consumers(t *testing.T) {
	env := func(string) string { return "" }
	text := must.Get(os.ReadFile("config.compose.yaml"))(t)
	cfg := must.Get(config.Parse("config.compose.yaml", text, env))(t)
	host, port, _ := strings.Cut(cfg.Metrics.Listen, ":")
	expect.That(t, host == "0.0.0.0", "the consumers listen on %s: no other container can reach that", cfg.Metrics.Listen)
	var file struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName string `yaml:"job_name"`
			Honor   bool   `yaml:"honor_labels"`
			Static  []struct {
				Targets []string          `yaml:"targets"`
				Labels  map[string]string `yaml:"labels"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	load(t, "prometheus/prometheus.yml", &file)
	job := file.ScrapeConfigs[0]
	want := []string{"consumer-1:" + port, "consumer-2:" + port}
	expect.That(t, slices.Equal(job.Static[0].Targets, want), "targets are %v, want %v", job.Static[0].Targets, want)
	expect.That(t, job.JobName == "switchback" && job.Static[0].Labels["pipeline"] == cfg.Pipeline.ID, "job %q with labels %v: the rules want job switchback and pipeline %s", job.JobName, job.Static[0].Labels, cfg.Pipeline.ID)
	expect.That(t, job.Honor, "the series name their pipeline, and Prometheus would rename that label")
	expect.That(t, slices.Equal(file.RuleFiles, []string{"rules.yaml"}), "rule files are %v", file.RuleFiles)
}

// Each consumer reports whether it is ready, and alerts go to an existing service.
func TestCompose_health_and_alerts(t *testing.T) {
	file := compose(t)
	for _, name := range []string{"consumer-1", "consumer-2"} {
		expect.Equal(t, strings.Join(file.Services[name].Health.Test, " "), "CMD /usr/local/bin/consumer health -c /etc/switchback/pipeline.yaml", name)
	}
	text := string(must.Get(os.ReadFile("prometheus/prometheus.yml"))(t))
	_, host, _ := strings.Cut(text, "alertmanagers:\n    - static_configs: [{ targets: [")
	host, _, _ = strings.Cut(host, ":")
	_, there := file.Services[host]
	expect.That(t, there, "alerts go to %s", host)
	var manager struct {
		Route struct {
			Receiver string
			Routes   []struct{ Receiver string }
		}
		Receivers []struct{ Name string }
	}
	load(t, "prometheus/alertmanager.yml", &manager)
	known := map[string]bool{}
	for _, r := range manager.Receivers {
		known[r.Name] = true
	}
	for _, r := range append(manager.Route.Routes, struct{ Receiver string }{manager.Route.Receiver}) {
		expect.That(t, known[r.Receiver], "no receiver %s", r.Receiver)
	}
}

// Every panel shows metrics that exist, of the pipeline that is chosen.
func TestDashboard_shows_metrics_that_exist(t *testing.T) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("grafana/dashboard.json"))(t), &board))
	must.That(t, len(board.Panels) > 10, "%d panels", len(board.Panels))
	known := exportedMetrics(t)
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				expect.That(t, known[name], "%s: there is no metric %s", p.Title, name)
			}
			expect.That(t, strings.Contains(target.Expr, `{pipeline="$pipeline"}`), "%s: %s", p.Title, target.Expr)
		}
	}
}

func TestDockerfile_builds_what_is_there(t *testing.T) {
	text := must.Get(os.ReadFile("Dockerfile"))(t)
	for _, m := range regexp.MustCompile(`\./cmd/\w+`).FindAllString(string(text), -1) {
		_, err := os.Stat(filepath.Join("..", m, "main.go"))
		expect.That(t, err == nil, "builds %s: %v", m, err)
	}
	expect.That(t, strings.Contains(string(text), "CGO_ENABLED=0"), "the binaries are not static, and the image has no C library")
	expect.That(t, regexp.MustCompile(`(?m)^USER nonroot`).Match(text), "the image runs as root")
}

// The compose file creates the table that its consumers write: the statements are those of consumer sink ddl.
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

// dockerfile is the Dockerfile with continued lines joined.
func dockerfile(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile("Dockerfile"))(t)
	return regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(text), "")
}

// mostConsumer is the largest size of the consumer in an image, in bytes. The SQL engine of the index, by which the
// demo's replay chooses, is 5 million of them (decision 0165).
const mostConsumer = 50_000_000

// An image contains the commit from which it was built: from .git in its context, or from build arguments.
func TestImage_saysItsVersionAndCommit(t *testing.T) {
	text := dockerfile(t)
	flags := regexp.MustCompile(`-ldflags="([^"]+)"`).FindStringSubmatch(text)
	must.That(t, flags != nil && strings.Contains(text, "\nARG VERSION=\n") && strings.Contains(text, "\nARG COMMIT=\n"), "no arguments VERSION and COMMIT, or no linker flags:\n%s", text)
	ignored := must.Get(os.ReadFile("../.dockerignore"))(t)
	expect.That(t, !slices.Contains(strings.Fields(string(ignored)), ".git"), ".dockerignore keeps .git out of the context: an image without arguments would not know its commit")
	for name, s := range compose(t).Services {
		expect.That(t, s.Build == nil || s.Build.Args["VERSION"] == "${VERSION:-}" && s.Build.Args["COMMIT"] == "${COMMIT:-}", "service %s passes no VERSION and COMMIT to its build: %+v", name, s.Build)
	}
	testrun.Nightly(t) // linking the consumer takes longer than all other tests here
	const commit = "0123456789abcdef0123456789abcdef01234567"
	ldflags := strings.NewReplacer("${VERSION}", "v1.2.3", "${COMMIT}", commit).Replace(flags[1])
	binary := filepath.Join(t.TempDir(), "consumer")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", ldflags, "-o", binary, "../cmd/consumer")
	out, err := build.CombinedOutput()
	must.That(t, err == nil, "%v\n%s", err, out)
	out, err = exec.CommandContext(t.Context(), binary, "--version").CombinedOutput()
	want := "consumer v1.2.3 (commit 0123456789ab, go"
	expect.That(t, err == nil && strings.HasPrefix(string(out), want), "%v: %q, want %q…", err, out, want)
	size := must.Get(os.Stat(binary))(t).Size()
	expect.That(t, size <= mostConsumer, "the consumer has %d bytes, want at most %d: which dependency does it link needlessly?", size, mostConsumer)
}

// container is the part of a container that these tests check.
type container struct {
	Name           string
	Args           []string
	Env            []struct{ Name, Value string }
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// The pipeline of the Kubernetes example is valid and answers the probes; the file that the containers read is
// mounted.
func TestKubernetes(t *testing.T) {
	containers := map[string]container{}
	var pipeline string
	for text := range strings.SplitSeq(string(must.Get(os.ReadFile("kubernetes.yaml"))(t)), "\n---\n") {
		var object struct {
			Data map[string]string
			Spec struct {
				Template struct {
					Spec struct{ Containers []container }
				}
			}
		}
		must.Do(t, yaml.Unmarshal([]byte(text), &object))
		if object.Data != nil {
			pipeline = object.Data["pipeline.yaml"]
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			containers[c.Name] = c
		}
	}
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(pipeline), func(string) string { return "" }))(t)
	expect.Equal(t, cfg.Metrics.Listen, "0.0.0.0:9464", "probes and Prometheus connect from other machines")
	run := containers["consumer"]
	expect.That(t, strings.Join(run.Args, " ") == "run" && run.LivenessProbe.Get.Path == "/healthz" && run.ReadinessProbe.Get.Path == "/readyz", "%+v", run)
	expect.Equal(t, strings.Join(containers["topics"].Args, " "), "topics ensure")
	for name, c := range containers {
		expect.That(t, len(c.Env) > 0 && c.Env[0].Name == "SWITCHBACK_CONFIG" && c.Env[0].Value == "/etc/switchback/pipeline.yaml", "%s: %+v", name, c.Env)
	}
}
