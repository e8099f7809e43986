package dryrun

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/status"
)

// DeployedVerdict is the result of a mapping that instances run, and that differs from the one of the pipeline file.
type DeployedVerdict struct {
	Mapping   string        `json:"mapping"`            // its fingerprint
	Instances []string      `json:"instances"`          // that run it
	Software  string        `json:"software,omitempty"` // their version; this process judges with its own
	Verdict   *plan.Verdict `json:"verdict"`            // null if it is not known
	Unknown   string        `json:"unknown,omitempty"`  // why it is not known
}

// maxDeployed bounds the mappings that judge one dead letter: a deployment has two at a time.
const maxDeployed = 4

// Deployed returns what the mappings of running instances make of a dead letter, as far as they differ from the mapping
// of the pipeline file. The letter must have its content. It needs the instances to have published their pipeline file,
// and the files that it names to have the same content here.
func (d *Runner) Deployed(ctx context.Context, letter deadletters.Letter) ([]DeployedVerdict, error) {
	own, err := d.Fingerprint()
	if err != nil {
		return nil, err
	}
	group, err := kafka.DescribeGroup(ctx, kadm.NewClient(d.Client), d.Config.Source.Group)
	if err != nil {
		return nil, err
	}
	others := otherMappings(status.CompareMappings(own, group))
	if len(others) == 0 {
		return nil, nil
	}
	view, err := control.Read(ctx, d.Opts, d.Config.Topics.Control)
	if err != nil {
		return nil, err
	}
	for i := range others {
		o := &others[i]
		published, known := view.Mappings[o.Mapping]
		if !known {
			o.Unknown = d.Config.Topics.Control + " does not have their pipeline file: they could not write it (their log says why), or it was removed since they started"
			continue
		}
		mapping, err := d.mappingOf(ctx, o.Mapping, published)
		if err != nil {
			o.Unknown = err.Error()
			continue
		}
		_, err = try(ctx, mapping, d.asRecord(ctx, &letter, letter.Content.Value))
		verdict := verdictOf(err)
		o.Verdict = &verdict
	}
	return others, nil
}

// otherMappings returns the mappings of members that differ from the own one, in the order of the members. It leaves
// out those beyond maxDeployed.
func otherMappings(c status.MappingComparison) []DeployedVerdict {
	var out []DeployedVerdict
	for _, m := range c.Members {
		if m.Mapping == "" || m.Mapping == c.Own {
			continue
		}
		i := slices.IndexFunc(out, func(d DeployedVerdict) bool { return d.Mapping == m.Mapping })
		switch {
		case i >= 0:
			out[i].Instances = append(out[i].Instances, m.Name)
		case len(out) < maxDeployed:
			out = append(out, DeployedVerdict{Mapping: m.Mapping, Instances: []string{m.Name}, Software: m.Software})
		}
	}
	return out
}

// mappingOf compiles a published mapping with the files of this process. The result has the given fingerprint;
// otherwise it is not the mapping that the instances run, and mappingOf returns an error that says why it cannot be.
func (d *Runner) mappingOf(ctx context.Context, fingerprint string, published control.Mapping) (*pipeline.Mapping, error) {
	cfg, err := d.Config.Judging([]byte(published.File))
	if err != nil {
		return nil, fmt.Errorf("the pipeline file of the instances cannot be used here: %w", err)
	}
	mapping, err := pipeline.NewMapping(cfg)
	if err != nil {
		return nil, fmt.Errorf("the mapping of the instances cannot be used here: %w", err)
	}
	if err := mapping.Load(ctx); err != nil {
		return nil, fmt.Errorf("the mapping of the instances cannot be used here: %w", err)
	}
	switch found, err := mapping.Fingerprint(); {
	case err != nil:
		return nil, err
	case found != fingerprint:
		return nil, fmt.Errorf("the instances read other files than this process (reference sets, grids or Avro schemas), or run another version of the software: their pipeline file gives %s here", status.ShortMapping(found))
	}
	return mapping, nil
}
