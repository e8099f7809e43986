package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
)

// connection says how the cluster of a DLQ is reached that belongs to no pipeline.
type connection struct {
	brokers           []string
	profile, profiles string
	registry          string
}

func (x *connection) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&x.brokers, "brokers", nil, "host:port of some brokers, for a DLQ (--topic) without a pipeline file")
	flags.StringVar(&x.registry, "registry", "", "URL of the schema registry of the values, for a DLQ without a pipeline file")
	flags.StringVar(&x.profile, "profile", "", "how the brokers are reached, by its name in the file of profiles; instead of a pipeline file")
	flags.StringVar(&x.profiles, "profiles", "", "the file of profiles (default: switchback/profiles.yaml in the user's configuration folder)")
}

func (x *connection) given() bool {
	return len(x.brokers) > 0 || x.profile != "" || x.profiles != "" || x.registry != ""
}

// flags writes it as flags again.
func (x *connection) flags() string {
	brokers := ""
	if len(x.brokers) > 0 {
		brokers = " --brokers " + quoted(strings.Join(x.brokers, ","))
	}
	return strings.TrimSpace(brokers + again("profile", x.profile) + again("profiles", x.profiles) + again("registry", x.registry))
}

// alone reports whether there is no pipeline: the brokers are named by themselves.
func (a *app) alone(r *reading) bool { return a.configFile == "" && r.connection.given() }

// pipeline loads the pipeline file.
func (a *app) pipeline() (*config.Config, error) {
	if a.configFile == "" {
		return nil, usage("which pipeline? %w; for example: -c pipeline.yaml", cli.ErrNoPipelineFile)
	}
	cfg, err := config.Load(a.configFile)
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	return cfg, nil
}

// dlq says which DLQ is looked at: that of the pipeline file, or one that is named by itself.
func (a *app) dlq(r *reading) (*config.Config, error) {
	switch {
	case a.configFile != "" && r.connection.given():
		return nil, usage("-c names a pipeline file, which says how its brokers are reached: leave --brokers, --profile, --profiles and --registry out, or -c")
	case a.configFile == "" && !a.alone(r) && r.foreign:
		return nil, usage("which pipeline? %w; for example: -c pipeline.yaml; a DLQ without one is named by --brokers (or --profile) and --topic", cli.ErrNoPipelineFile)
	case !a.alone(r) && r == &a.named && r.topic != "":
		return nil, usage("--topic names a DLQ without a pipeline here: name its brokers with --brokers or --profile, and no pipeline file")
	case !a.alone(r) && r.stateDir != "":
		return nil, usage("--%s is for a DLQ without a pipeline, which --brokers (or --profile) and --topic name: a pipeline keeps its states in its topics", stateFlag)
	case !a.alone(r):
		return a.pipeline()
	}
	q := config.DLQ{Topic: r.topic, Brokers: r.connection.brokers, Profile: r.connection.profile, Profiles: r.connection.profiles, Registry: r.connection.registry}
	if q.Profile != "" && q.Profiles == "" {
		file, err := config.DefaultProfiles()
		if err != nil {
			return nil, exit(cli.ExitUsage, err)
		}
		q.Profiles = file
	}
	cfg, err := config.LoadDLQ(q)
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	return cfg, nil
}

// place is meant for commands that put back or change.
func (a *app) place() string { return a.meant(&a.named) }

// meant writes as flags again which DLQ is looked at.
func (a *app) meant(r *reading) string {
	if a.alone(r) {
		text := r.connection.flags() + again("topic", r.topic)
		if r.dialect != auto {
			text += again("dialect", r.dialect)
		}
		return text + again(stateFlag, r.stateDir) + again("index", r.index)
	}
	return "-c " + quoted(a.configFile) + again("topic", r.topic) + again("index", r.index)
}
