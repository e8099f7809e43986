package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// mappingFlag is the consent to a replay into instances that run another mapping than the dry run.
const mappingFlag = "mapping-differs"

// compareMappings says which running instances have which mapping, and whether one is known to have another than the plan. What
// cannot be found out is said, and is no difference. A plan that goes elsewhere is nothing that they judge.
func (a *app) compareMappings(ctx context.Context, s *replay.Service, p *plan.Plan) (differs bool, err error) {
	if p.To != "" || p.Alone() {
		return false, nil
	}
	c, err := s.Mappings(ctx, p)
	switch {
	case errors.Is(err, context.Canceled):
		return false, err
	case err != nil:
		fmt.Fprintln(a.env.Err, "Note: "+cli.CleanText(fmt.Sprintf("it is not known which mapping the instances of %s run: %v", p.Pipeline, err), cli.OneLine))
		return false, nil
	}
	whose := a.configFile
	if p.Mapping != "" {
		whose = "this plan, made at " + dlq.TimeText(p.MadeAt)
	}
	for _, line := range c.Lines(whose) {
		fmt.Fprintln(a.env.Err, cli.CleanText(line, cli.OneLine))
	}
	if c.Differs() {
		fmt.Fprintln(a.env.Err, "Warning: what is to be expected was found with a mapping that is not the one of every running instance. They may make something else of each dead letter.")
	}
	return c.Differs(), nil
}

// differentMapping refuses a replay into instances that run another mapping. compareMappings has named them.
func (a *app) differentMapping(p *plan.Plan) error {
	return exit(cli.ExitRefused, fmt.Errorf("refused: nothing was put back, since running instances have another mapping than %s (see above); "+
		"restart all of them with the same pipeline file, or make the plan with the file that they run; --%s goes on as it is", p.ID, mappingFlag))
}

// runningMappings says which running instances have the mapping of the pipeline file.
func (a *app) runningMappings(ctx context.Context, s *replay.Service) {
	if a.alone(&a.named) {
		return
	}
	c, err := s.Mappings(ctx, nil)
	if err != nil {
		fmt.Fprintln(a.env.Err, "Note: "+cli.CleanText(fmt.Sprintf("it is not known which mapping the running instances have: %v", err), cli.OneLine))
		return
	}
	for _, line := range c.Lines(a.configFile) {
		fmt.Fprintln(a.env.Err, cli.CleanText(line, cli.OneLine))
	}
}
