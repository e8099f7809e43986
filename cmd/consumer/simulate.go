package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/simulate"
)

type simulateFlags struct {
	scenario    string
	output      *outputValue
	rate, hours float64
	seed        int64
	instances   int
	expect      bool
}

func newSimulate() *cobra.Command {
	var f simulateFlags
	cmd := withFile(&cobra.Command{
		Use:   "simulate -c FILE",
		Short: "Simulate the retry policy against failing providers",
		Long: `Simulate the retry policy of a pipeline in virtual time: how many records wait in each tier and when, how many
requests each provider gets, which share becomes dead letters, how long the backlog takes to drain. It contacts
no broker and no provider; every decision is the engine's own.

Without --scenario, every remote step fails once in a hundred requests and has one outage. With --expect, the
exit code is 4 if an expectation of the scenario is broken, so it can test a policy.`,
	}, func(cmd *cobra.Command, cfg *config.Config, _ string) error { return f.run(cmd, cfg) })
	cmd.Flags().StringVar(&f.scenario, "scenario", "", "scenario file (YAML)")
	cmd.Flags().Float64Var(&f.rate, "rate", 0, "records a second; overrides the scenario (default 100)")
	cmd.Flags().Float64Var(&f.hours, "hours", 0, "how many hours the source receives records; overrides the scenario (default 1)")
	cmd.Flags().IntVar(&f.instances, "instances", 0, "consumers that share the work; overrides the scenario (default 1)")
	cmd.Flags().Int64Var(&f.seed, "seed", 0, "the same seed repeats the run; overrides the scenario (default 1)")
	f.output = outputFlag(cmd)
	cmd.Flags().BoolVar(&f.expect, "expect", false, "exit code 4 if an expectation of the scenario is broken")
	return cmd
}

func (f simulateFlags) run(cmd *cobra.Command, cfg *config.Config) error {
	system := consumer.Simulation(cfg.Uncapped()) // also on a build server: the policy of production is simulated
	scenario, err := f.load(cmd, system)
	if err != nil {
		return err
	}
	report, err := simulate.Run(cmd.Context(), system, scenario)
	if tooMuch := new(simulate.TooMuchError); errors.As(err, &tooMuch) {
		return usageError(err)
	}
	if err != nil {
		return errInterrupted // it fails for no other reason
	}
	if err := f.print(cmd, report); err != nil {
		return err
	}
	if broken := len(report.Broken()); f.expect && broken > 0 {
		return cli.ExitError{Code: cli.ExitPartly, Err: fmt.Errorf("%d of %s broken", broken, cli.Count(len(report.Expectations), "expectation"))}
	}
	return nil
}

// load returns the scenario with the flags' values.
func (f simulateFlags) load(cmd *cobra.Command, system simulate.System) (simulate.Scenario, error) {
	changed := cmd.Flags().Changed
	for flag, bad := range map[string]bool{
		"rate": f.rate <= 0 || f.rate > 1e9, "hours": f.hours <= 0 || f.hours > 8760, "instances": f.instances < 1 || f.instances > 10_000, "seed": f.seed < 0,
	} {
		if changed(flag) && bad {
			return simulate.Scenario{}, usageError(fmt.Errorf("--%s %s: out of range", flag, cmd.Flags().Lookup(flag).Value))
		}
	}
	rate, duration := 100.0, time.Hour
	if changed("rate") {
		rate = f.rate
	}
	if changed("hours") {
		duration = time.Duration(f.hours * float64(time.Hour)).Round(time.Millisecond)
	}
	scenario := simulate.Default(system, rate, duration)
	if f.scenario != "" {
		text, err := os.ReadFile(f.scenario)
		if err != nil {
			return scenario, usageError(fmt.Errorf("read the scenario: %w", err))
		}
		if scenario, err = simulate.ParseScenario(f.scenario, text, system); err != nil {
			return scenario, err
		}
		if changed("rate") {
			scenario.Rate = rate
		}
		if changed("hours") {
			scenario.Duration = config.Duration(duration)
		}
	}
	if changed("instances") {
		scenario.Instances = f.instances
	}
	if changed("seed") {
		scenario.Seed = f.seed
	}
	if f.expect && len(scenario.Expect.Keys()) == 0 {
		return scenario, usageError(errors.New("--expect: the scenario has no expectations; list them under its key expect"))
	}
	return scenario, nil
}

func (f simulateFlags) print(cmd *cobra.Command, report simulate.Report) error {
	if !f.output.people() {
		if err := f.output.encode(cmd.OutOrStdout(), report); err != nil {
			return fmt.Errorf("print the simulation: %w", err)
		}
		return nil
	}
	return simulate.Print(cmd.OutOrStdout(), report)
}
