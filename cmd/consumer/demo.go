package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/demo"
	"github.com/switchback-geo/switchback/internal/devbroker"
)

func newDemo() *cobra.Command {
	o := demo.Options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a guided demo on an embedded broker with real features",
		Long: `Start an embedded broker, publish real earthquakes and counties, run a consumer whose place-name
service has an outage, verify where every feature is, correct the mapping, replay the dead letters,
and verify again. Takes about a minute and a half. A browser shows the dead letters at the address
that is printed. Then broker, console, metrics and consumer stay usable until Ctrl-C, unless --exit
is given.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Events < 0 {
				return usageError(fmt.Errorf("--events %d: use one or more", o.Events))
			}
			if o.KafkaPort < 0 || o.KafkaPort > 65535 {
				return usageError(fmt.Errorf("%s %d: ports range from 1 to 65535; 0 uses a free one", devbroker.PortFlag, o.KafkaPort))
			}
			o.Stdout, o.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			o.Terminal = term.IsTerminal(int(os.Stderr.Fd()))
			err := demo.Run(cmd.Context(), o)
			if errors.Is(err, demo.ErrInterrupted) {
				return errInterrupted
			}
			if _, refused := errors.AsType[*devbroker.RealBrokersError](err); refused || errors.Is(err, console.ErrAddress) {
				return usageError(err)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&o.Events, "events", "n", 0, "number of events; beyond the 4938 real ones, they repeat as newer versions (default 4938)")
	flags.BoolVar(&o.Exit, "exit", false, "exit at the end of the demo")
	flags.IntVar(&o.KafkaPort, "port", 9092, "port of the embedded broker on 127.0.0.1 (0: any free one)")
	flags.StringVar(&o.ConsoleListen, "console", "", "loopback host:port of the web console (default "+demo.UsualConsole+", or a free port if that one is taken)")
	flags.StringVar(&o.MetricsListen, "metrics", "127.0.0.1:9464", `host:port of /metrics ("" turns it off)`)
	return cmd
}
