package deploy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// container is what these tests look at.
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

// The pipeline of the Kubernetes example is valid and answers the probes; the file that the containers are told of is mounted.
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
	expect.Equal(t, cfg.Metrics.Listen, "0.0.0.0:9464", "probes and Prometheus ask from elsewhere")
	run := containers["consumer"]
	expect.That(t, strings.Join(run.Args, " ") == "run" && run.LivenessProbe.Get.Path == "/healthz" && run.ReadinessProbe.Get.Path == "/readyz", "%+v", run)
	expect.Equal(t, strings.Join(containers["topics"].Args, " "), "topics ensure")
	for name, c := range containers {
		expect.That(t, len(c.Env) > 0 && c.Env[0].Name == "SWITCHBACK_CONFIG" && c.Env[0].Value == "/etc/switchback/pipeline.yaml", "%s: %+v", name, c.Env)
	}
}
