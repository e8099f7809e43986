package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
)

// aclsFlags holds the flags of the acls command.
type aclsFlags struct {
	principal, host string
	roles           []string
	to              acls.Targets // of a DLQ without a pipeline
}

func (a *app) acls() *cobra.Command {
	var f aclsFlags
	cmd := &cobra.Command{
		Use:   "acls",
		Short: "Print the least privileges that the replayer's commands need",
		Long: `Print the least privileges that the replayer's commands need on a cluster with ACLs, as kafka-acls.sh
commands or, with -o json, as JSON. Nothing is changed and no broker is asked.

replayer-read is for commands that change nothing, and for dry runs; replayer-write for --execute. With --to, a pipeline's
dead letters need Write on that topic besides. For a DLQ without a pipeline, --target names each topic that dead letters
go back to; a dry run of replay prints them.`,
		RunE: func(*cobra.Command, []string) error { return a.printACLs(&f) },
	}
	a.dlqFlags.registerDLQ(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.to.Topics, "target", nil, "a topic that dead letters of a DLQ without a pipeline go back to; may be repeated")
	flags.StringSliceVar(&f.to.Groups, "watch-group", nil, "a consumer group that --watch-group of replay follows; may be repeated")
	flags.StringVar(&f.principal, "principal", "", "principal that gets them, such as User:desk (mandatory)")
	flags.StringVar(&f.host, "host", "*", "address from which the principal may connect")
	flags.StringSliceVar(&f.roles, "for", texts(acls.ReplayerRoles()), "what for: "+strings.Join(texts(acls.ReplayerRoles()), ", "))
	return cmd
}

// printACLs prints commands unless -o asks for JSON: their output often goes to a shell.
func (a *app) printACLs(f *aclsFlags) error {
	var roles []acls.Role
	for _, word := range f.roles {
		role := acls.Role(word)
		if !slices.Contains(acls.ReplayerRoles(), role) {
			return cli.UsageError("--for %q: use one of %s", word, strings.Join(texts(acls.ReplayerRoles()), ", "))
		}
		roles = append(roles, role)
	}
	f.to.Local = a.dlqFlags.stateDir != ""
	cfg, err := a.dlq()
	if err != nil {
		return err
	}
	allowed, err := a.allowed(f, cfg, roles)
	if err != nil {
		return exit(cli.ExitUsage, err)
	}
	if a.outputGiven && a.output != "table" {
		return a.object(allowed)
	}
	return allowed.WriteCommands(a.env.Out, cfg.Kafka)
}

func (a *app) allowed(f *aclsFlags, cfg *config.Config, roles []acls.Role) (acls.Allowed, error) {
	targets := len(f.to.Topics) > 0
	switch {
	case !a.alone() && (targets || len(f.to.Groups) > 0):
		return acls.Allowed{}, errors.New("--target and --watch-group are for a DLQ without a pipeline, which --brokers and --topic name: the pipeline file says where dead letters go back to")
	case !a.alone():
		return ofPrincipal(acls.For(cfg, f.principal, f.host, roles))
	case !targets && slices.Contains(roles, acls.RoleReplayerWrite):
		return acls.Allowed{}, fmt.Errorf("--target: to which topics do the dead letters go back? %s prints them; without replaying, use --for %s", "replayer replay "+a.dlqText(), acls.RoleReplayerRead)
	}
	return ofPrincipal(acls.ForDLQ(cfg, f.principal, f.host, roles, f.to))
}

// ofPrincipal adds the names of the flags that set the principal to an error.
func ofPrincipal(allowed acls.Allowed, err error) (acls.Allowed, error) {
	if err != nil {
		err = fmt.Errorf("--principal, --host: %w", err)
	}
	return allowed, err
}
