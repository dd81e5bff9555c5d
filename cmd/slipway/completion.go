package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a shell completion script",
		Long: `Print a script that completes commands, flags and their values, the names of
servers and clients, and for sources in local files also tools, resources,
prompts, arguments and their values. SHELL is bash, zsh, fish or powershell.

Completion starts no server and contacts no host. What takes longer than 300 ms,
or the time in SLIPWAY_COMPLETION_TIME, is not offered.`,
		Example: `  slipway completion bash > slipway.bash
  source slipway.bash`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			out := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return bashCompletion(root, out)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usage("one of "+strings.Join(cmd.ValidArgs, ", "), "completion: unknown shell %q", args[0])
		},
	}
}

// bashCompletion writes the script for bash. The generated one needs a function of the
// package bash-completion, which macOS and many containers lack.
func bashCompletion(root *cobra.Command, out io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const needed = `    _get_comp_words_by_ref "$@" cur prev words cword
`
	_, err := io.WriteString(out, strings.Replace(script.String(), needed, splitWords, 1))
	return err
}

// splitWords sets the variables cur, prev, words and cword in bash: the words of COMP_LINE,
// which bash also splits at = and colons.
const splitWords = `    local rest=$COMP_LINE i last=-1
    words=()
    cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        if [[ $last -lt 0 || $rest == [[:space:]]* ]]; then
            rest=${rest#"${rest%%[![:space:]]*}"}
            words[++last]=
        fi
        words[last]+=${COMP_WORDS[i]}
        rest=${rest#"${COMP_WORDS[i]}"}
        if ((i == COMP_CWORD)); then
            cword=$last
        fi
    done
    cur=${words[cword]}
    prev=
    if ((cword > 0)); then
        prev=${words[cword - 1]}
    fi
`
