package main

import "github.com/spf13/cobra"

func newConfigCheck() *cobra.Command {
	var d definitions
	var r reporting
	cmd := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check definitions files",
		Long: `Check definitions against all rules of the format, each file alone and all of
them merged, and report each problem with its place. Values of secrets are never
printed. If a file also configures "slipway serve", its settings are checked,
too, with the files, certificates and addresses that they name.

` + filesHelp + `

` + defaultsHelp,
		Example: `  slipway config check examples/definitions/mcp.yaml
  slipway config check examples/definitions/company.json \
      examples/definitions/mine.ts --strict`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := defaultFiles(cmd, args, nil)
			if err != nil {
				return err
			}
			_, report, err := d.load(args)
			if err != nil {
				return err
			}
			for _, file := range args {
				checkConfig(report, file)
			}
			return r.print(cmd, args, report)
		},
	}
	d.flags(cmd)
	r.flags(cmd)
	return cmd
}
