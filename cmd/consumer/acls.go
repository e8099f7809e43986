package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/config"
)

// aclsFlags are the flags of topics acls.
type aclsFlags struct {
	file, principal, host string
	roles                 []string
}

func newTopicsACLs() *cobra.Command {
	var f aclsFlags
	var output *outputValue
	cmd := &cobra.Command{
		Use:   "acls -c FILE --principal User:NAME",
		Short: "Print the least privileges that the consumer's commands need, as kafka-acls.sh commands or JSON",
		Long: `Print the least privileges that the consumer's commands need on a cluster with ACLs, as kafka-acls.sh
commands or, with -o json, as JSON. Nothing is changed and no broker is asked.

Give the principal of consumer run the role run alone (--for run); topics, control and status are for
operators. The replayer's privileges are printed by replayer acls.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.print(cmd, output) },
	}
	configFlag(cmd, &f.file)
	cmd.Flags().StringVar(&f.principal, "principal", "", "to whom they are granted, such as User:orders (mandatory)")
	cmd.Flags().StringVar(&f.host, "host", "*", "address that the principal may come from")
	cmd.Flags().StringSliceVar(&f.roles, "for", roleWords(), "what for: "+strings.Join(roleWords(), ", "))
	output = outputFlag(cmd)
	return cmd
}

func roleWords() (words []string) {
	for _, role := range acls.ConsumerRoles() {
		words = append(words, string(role))
	}
	return words
}

func (f aclsFlags) print(cmd *cobra.Command, output *outputValue) error {
	var roles []acls.Role
	for _, word := range f.roles {
		role := acls.Role(word)
		if !slices.Contains(acls.ConsumerRoles(), role) {
			return usageError(fmt.Errorf("--for %q: use one of %s", word, strings.Join(roleWords(), ", ")))
		}
		roles = append(roles, role)
	}
	cfg, err := config.Load(f.file)
	if err != nil {
		return configError(err)
	}
	allowed, err := acls.For(cfg, f.principal, f.host, roles)
	if err != nil {
		return usageError(fmt.Errorf("--principal, --host: %w", err))
	}
	if output.people() {
		return allowed.WriteCommands(cmd.OutOrStdout(), cfg.Kafka)
	}
	return output.encode(cmd.OutOrStdout(), allowed)
}
