package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/cli"
)

// aclsFlags say for whom the privileges are printed.
type aclsFlags struct {
	principal, host string
	roles           []string
}

func (a *app) acls() *cobra.Command {
	var f aclsFlags
	cmd := &cobra.Command{
		Use:   "acls",
		Short: "Print the least privileges that the replayer's commands need",
		Long: `Print the least privileges that the replayer's commands need on a cluster with ACLs, as kafka-acls.sh
commands or, with -o json, as JSON. Nothing is changed and no broker is asked.

replayer-read is for commands that change nothing, and for dry runs; replayer-write for --execute. Dead letters
that go to another topic (--to, or dead letters of other software) need Write on that topic besides.`,
		Args: a.fileArgument,
		RunE: func(*cobra.Command, []string) error { return a.printACLs(&f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.principal, "principal", "", "to whom they are granted, such as User:desk (mandatory)")
	flags.StringVar(&f.host, "host", "*", "address that the principal may come from")
	flags.StringSliceVar(&f.roles, "for", roleWords(), "what for: "+strings.Join(roleWords(), ", "))
	return cmd
}

func roleWords() (list []string) {
	for _, role := range acls.ReplayerRoles() {
		list = append(list, string(role))
	}
	return list
}

// printACLs writes commands unless another output was asked for: they are for a shell, which is no terminal.
func (a *app) printACLs(f *aclsFlags) error {
	var roles []acls.Role
	for _, word := range f.roles {
		role := acls.Role(word)
		if !slices.Contains(acls.ReplayerRoles(), role) {
			return usage("--for %q: use one of %s", word, strings.Join(roleWords(), ", "))
		}
		roles = append(roles, role)
	}
	cfg, err := a.pipeline()
	if err != nil {
		return err
	}
	allowed, err := acls.For(cfg, f.principal, f.host, roles)
	if err != nil {
		return exit(cli.ExitUsage, fmt.Errorf("--principal, --host: %w", err))
	}
	if a.asked && a.output != "table" {
		return a.object(allowed)
	}
	return allowed.WriteCommands(a.env.Out, cfg.Kafka)
}
