package clients

import (
	"encoding/json"
	"slices"

	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
)

// home returns the same path in the home folder for all systems.
func home(path string, project ...string) Files {
	p := []string{"~/" + path}
	return Files{p, p, p, project}
}

// or adds the path in the home folder that earlier versions used.
func (f Files) or(path string) Files {
	for _, list := range []*[]string{&f.Linux, &f.Darwin, &f.Windows} {
		*list = append(slices.Clone(*list), "~/"+path)
	}
	return f
}

// kind returns a member with a fixed text.
func kind(name, value string) []stax.Field {
	text, _ := json.Marshal(value)
	return []stax.Field{{Name: name, Value: text}}
}

// local returns the shape that most clients have for a program.
func local() *Shape { return &Shape{Command: "command", Args: "args", Env: "env"} }

// remote returns the shape that most clients have for a URL. With an empty kindName, the
// client infers the type.
func remote(kindName string) *Shape {
	s := &Shape{URL: "url", Headers: []string{"headers"}}
	if kindName != "" {
		s.Const = kind("type", kindName)
	}
	return s
}

func (s *Shape) with(change func(*Shape)) *Shape {
	change(s)
	return s
}

func typed(name string) func(*Shape) { return func(s *Shape) { s.Const = kind("type", name) } }
func cwd(s *Shape)                   { s.Cwd = "cwd" }
func argsAlways(s *Shape)            { s.ArgsAlways = true }

// clineFile is the file in which Cline stores its servers; clineBefore is the earlier one
// of its extension, in the storage of VS Code.
const (
	clineFile   = "${CLINE_MCP_SETTINGS_PATH:-~/.cline/data/settings/cline_mcp_settings.json}"
	clineBefore = "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
)

// restart is the step that most programs require.
const restart = "restart it, or reload its servers"

// All returns the table of clients, sorted by id.
func All() []Client {
	braces, dollars := []string{"${NAME}"}, []string{"${NAME}", "$NAME"}
	return []Client{
		{
			ID: "amazon-q", Aliases: []string{"amazonq"}, Name: "Amazon Q CLI", Format: tree.JSON, Root: "mcpServers",
			Files: home(".aws/amazonq/mcp.json", ".amazonq/mcp.json"),
			Stdio: local(), HTTP: remote("http"),
			References: References{Value: "${env:%s}"}, Expands: braces,
			ProjectDir: ".",
			Todo:       []string{"start a new session; a variable of your shell overrides one in the file"},
			Checked:    "source, 2026-04",
		},
		{
			ID: "claude-code", Name: "Claude Code", Format: tree.JSON, Root: "mcpServers",
			Files: Files{
				Linux:   []string{"${CLAUDE_CONFIG_DIR:-~}/.claude.json"},
				Darwin:  []string{"${CLAUDE_CONFIG_DIR:-~}/.claude.json"},
				Windows: []string{"${CLAUDE_CONFIG_DIR:-~}/.claude.json"},
				Project: []string{".mcp.json"},
			},
			Stdio: local().with(typed("stdio")).with(cwd), HTTP: remote("http"), SSE: remote("sse"),
			EnabledTools: "tools", Ignores: []string{"cwd", "tools"},
			References: References{Value: "${%s}"}, Expands: braces,
			ProjectDir:  ".",
			ProjectTodo: []string{"a project's servers wait for approval: claude asks at the next start"},
			UserTodo:    []string{"start a new session"},
			Checked:     "run, 2.1.329",
		},
		{
			ID: "claude-desktop", Name: "Claude Desktop", Format: tree.JSON, Root: "mcpServers",
			Files: Files{
				Linux:   []string{"${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json"},
				Darwin:  []string{"~/Library/Application Support/Claude/claude_desktop_config.json"},
				Windows: []string{"${APPDATA:-~/AppData/Roaming}/Claude/claude_desktop_config.json"},
			},
			Stdio:   local(),
			Todo:    []string{restart},
			Checked: "documentation, 2026-07",
		},
		{
			ID: "cline", Name: "Cline", Format: tree.JSON, Root: "mcpServers",
			Files: Files{
				Linux:   []string{clineFile, "${XDG_CONFIG_HOME:-~/.config}/Code/User/globalStorage/" + clineBefore},
				Darwin:  []string{clineFile, "~/Library/Application Support/Code/User/globalStorage/" + clineBefore},
				Windows: []string{clineFile, "${APPDATA:-~/AppData/Roaming}/Code/User/globalStorage/" + clineBefore},
			},
			Stdio: local().with(typed("stdio")).with(cwd), HTTP: remote("streamableHttp"), SSE: remote("sse"), Untyped: stax.SSE,
			References: References{Value: "${env:%s}"}, Expands: []string{"${env:NAME}"},
			Todo:    []string{"the command line client does not expand references; the extension does"},
			Checked: "path run, 3.0.65; source, 2026-08",
		},
		{
			ID: "codex", Name: "Codex", Format: tree.TOML, Root: "mcp_servers", Names: "-_:@/.",
			Files: Files{
				Linux:   []string{"${CODEX_HOME:-~/.codex}/config.toml"},
				Darwin:  []string{"${CODEX_HOME:-~/.codex}/config.toml"},
				Windows: []string{"${CODEX_HOME:-~/.codex}/config.toml"},
				Project: []string{".codex/config.toml"},
			},
			Stdio: local().with(cwd), HTTP: &Shape{URL: "url", Headers: []string{"http_headers"}},
			Timeout: &Timeout{"startup_timeout_sec", "s"}, EnabledTools: "enabled_tools", DisabledTools: "disabled_tools",
			References: References{EnvList: "env_vars", BearerVar: "bearer_token_env_var",
				HeaderVars: "env_http_headers", Needed: []string{"bearer_token_env_var"}},
			ProjectDir:  ".",
			ProjectTodo: []string{"a project's file is read in trusted folders only: codex asks"},
			UserTodo:    []string{"start a new session"},
			Checked:     "run, 0.169.0",
		},
		{
			ID: "continue", Name: "Continue", Format: tree.YAML, Root: "mcpServers", List: true,
			Files: home(".continue/config.yaml", ".continue/mcpServers/slipway.yaml"),
			Stdio: local().with(typed("stdio")).with(cwd),
			HTTP:  &Shape{Const: kind("type", "streamable-http"), URL: "url", Headers: []string{"requestOptions", "headers"}},
			SSE:   &Shape{Const: kind("type", "sse"), URL: "url", Headers: []string{"requestOptions", "headers"}},

			Timeout:    &Timeout{"connectionTimeout", "ms"},
			References: References{Value: "${{ secrets.%s }}"}, Expands: []string{"${{ }}"},
			Preamble:   []stax.Field{kind("name", "slipway")[0], kind("version", "0.0.1")[0], kind("schema", "v1")[0]},
			ProjectDir: ".",
			Todo:       []string{"put the secrets into ~/.continue/.env or the settings"},
			Checked:    "schema run, 1.42.0",
		},
		{
			ID: "copilot-cli", Aliases: []string{"copilot"}, Name: "GitHub Copilot CLI", Format: tree.JSONC, Root: "mcpServers",
			Files: Files{
				Linux:   []string{"${COPILOT_HOME:-~/.copilot}/mcp-config.json"},
				Darwin:  []string{"${COPILOT_HOME:-~/.copilot}/mcp-config.json"},
				Windows: []string{"${COPILOT_HOME:-~/.copilot}/mcp-config.json"},
				Project: []string{".mcp.json", ".github/mcp.json"},
			},
			Stdio: local().with(typed("stdio")).with(cwd), HTTP: remote("http"), SSE: remote("sse"),
			EnabledTools: "tools",
			References:   References{Value: "${%s}"}, Expands: []string{"${NAME}", "$NAME", "NAME"},
			ProjectDir:  ".",
			Todo:        []string{"it may keep GITHUB_TOKEN to itself: the server then gets the reference as it stands"},
			ProjectTodo: []string{"a project's file is read in trusted folders only"},
			Checked:     "run, 1.0.102",
		},
		{
			ID: "cursor", Name: "Cursor", Format: tree.JSON, Root: "mcpServers",
			Files: home(".cursor/mcp.json", ".cursor/mcp.json"),
			Stdio: local(), HTTP: remote(""), SSE: remote(""),
			References: References{Value: "${env:%s}"}, Expands: braces,
			ProjectDir: "${workspaceFolder}",
			Todo:       []string{"allow the servers in the settings"},
			Checked:    "documentation",
		},
		{
			ID: "gemini-cli", Aliases: []string{"gemini"}, Name: "Gemini CLI", Format: tree.JSONC, Root: "mcpServers",
			Files: home(".gemini/settings.json", ".gemini/settings.json"),
			Stdio: local().with(cwd), HTTP: &Shape{URL: "httpUrl", Headers: []string{"headers"}},
			SSE: remote("sse"), Untyped: stax.HTTP,
			EnabledTools: "includeTools", DisabledTools: "excludeTools",
			References: References{Value: "${%s}"}, Expands: append(dollars, "%NAME%"),
			ProjectDir: ".",
			Todo:       []string{"servers start in trusted folders only, those of your own file, too: gemini asks"},
			Checked:    "run, 0.61.0",
		},
		{
			ID: "goose", Name: "Goose", Format: tree.YAML, Root: "extensions",
			Files: Files{
				Linux:   []string{"${XDG_CONFIG_HOME:-~/.config}/goose/config.yaml"},
				Darwin:  []string{"~/.config/goose/config.yaml"},
				Windows: []string{"${APPDATA:-~/AppData/Roaming}/Block/goose/config/config.yaml"},
			},
			Stdio: &Shape{Const: append(kind("type", "stdio"), stax.Field{Name: "enabled", Value: json.RawMessage("true")}),
				Name: "name", Description: "description", Command: "cmd", Args: "args", ArgsAlways: true, Env: "envs"},
			HTTP: &Shape{
				Const: append(kind("type", "streamable_http"), stax.Field{Name: "enabled", Value: json.RawMessage("true")}),
				Name:  "name", Description: "description", URL: "uri", Headers: []string{"headers"},
			},
			EnabledTools: "available_tools", EmptyIsAll: true,
			Refuses: []string{
				"PATH", "PATHEXT", "SystemRoot", "windir", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT",
				"LD_DEBUG", "LD_BIND_NOW", "LD_ASSUME_KERNEL", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES",
				"DYLD_FRAMEWORK_PATH", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS", "RUBYOPT", "GEM_PATH",
				"GEM_HOME", "CLASSPATH", "GO111MODULE", "GOROOT", "APPINIT_DLLS", "SESSIONNAME", "ComSpec",
				"TEMP", "TMP", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
			},
			References: References{EnvList: "env_keys", Header: "${%s}", Needed: []string{"env_keys"}},
			Todo:       []string{"put the secrets into its keyring: goose configure", restart},
			Checked:    "source",
		},
		{
			ID: "jetbrains", Name: "JetBrains AI Assistant", Format: tree.JSON, Root: "mcpServers",
			Files: home(".ai/mcp/mcp.json", ".ai/mcp/mcp.json"),
			Stdio: local(), HTTP: remote(""),
			Todo:    []string{"allow the servers in the settings"},
			Checked: "documentation",
		},
		{
			ID: "junie", Name: "Junie", Format: tree.JSON, Root: "mcpServers",
			Files: home(".junie/mcp/mcp.json", ".junie/mcp/mcp.json"),
			Stdio: local(), HTTP: remote(""),
			Todo:    []string{restart},
			Checked: "documentation",
		},
		{
			ID: "kiro", Name: "Kiro", Format: tree.JSON, Root: "mcpServers",
			Files: home(".kiro/settings/mcp.json", ".kiro/settings/mcp.json"),
			Stdio: local(), HTTP: remote(""),
			DisabledTools: "disabledTools",
			References:    References{Value: "${%s}"}, Expands: braces,
			Todo:    []string{"allow the variables in the settings of Kiro"},
			Checked: "documentation",
		},
		{
			ID: "librechat", Name: "LibreChat", Format: tree.YAML, Root: "mcpServers",
			Files: Files{Project: []string{"librechat.yaml"}},
			Stdio: local().with(typed("stdio")).with(cwd).with(argsAlways), HTTP: remote("streamable-http"), SSE: remote("sse"),
			Untyped:    stax.SSE,
			Timeout:    &Timeout{"initTimeout", "ms"},
			References: References{Value: "${%s}"}, Expands: braces,
			ProjectDir: ".",
			Todo:       []string{"restart the server; variables are those of the server"},
			Checked:    "schema run, 0.8.524",
		},
		{
			ID: "lm-studio", Aliases: []string{"lmstudio"}, Name: "LM Studio", Format: tree.JSON, Root: "mcpServers",
			Files: home(".lmstudio/mcp.json").or(".cache/lm-studio/mcp.json"),
			Stdio: local(), HTTP: remote(""),
			Todo:    []string{restart},
			Checked: "documentation, 2026-04",
		},
		{
			ID: "opencode", Name: "OpenCode", Format: tree.JSONC, Root: "mcp",
			Files: Files{
				Linux: []string{
					"${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json",
					"${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc",
				},
				Darwin:  []string{"~/.config/opencode/opencode.json", "~/.config/opencode/opencode.jsonc"},
				Windows: []string{"~/.config/opencode/opencode.json", "~/.config/opencode/opencode.jsonc"},
				Project: []string{"opencode.json", "opencode.jsonc"},
			},
			Stdio: &Shape{Const: kind("type", "local"), Command: "command", CommandList: true, Env: "environment", Cwd: "cwd"},
			HTTP:  remote("remote"), SSE: remote("remote"),
			Timeout:    &Timeout{"timeout", "ms"},
			References: References{Value: "{env:%s}"}, Expands: []string{"{env:NAME}", "{file:PATH}"},
			ProjectDir: ".",
			Todo:       []string{restart, "a variable with a quote or a backslash makes the file unreadable"},
			Checked:    "run, 1.18.33",
		},
		{
			ID: "roo", Name: "Roo Code", Format: tree.JSON, Root: "mcpServers",
			Files: Files{
				Linux: []string{
					"${XDG_CONFIG_HOME:-~/.config}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
				},
				Darwin: []string{
					"~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
				},
				Windows: []string{
					"${APPDATA:-~/AppData/Roaming}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
				},
				Project: []string{".roo/mcp.json"},
			},
			Stdio: local().with(typed("stdio")).with(cwd), HTTP: remote("streamable-http"), SSE: remote("sse"),
			DisabledTools: "disabledTools",
			References:    References{Value: "${env:%s}"}, Expands: braces,
			ProjectDir: ".",
			Todo:       []string{restart},
			Checked:    "source, 2026-04",
		},
		{
			ID: "vscode", Aliases: []string{"vs-code", "code"}, Name: "VS Code", Format: tree.JSONC, Root: "servers",
			Files: Files{
				Linux:   []string{"${XDG_CONFIG_HOME:-~/.config}/Code/User/mcp.json"},
				Darwin:  []string{"~/Library/Application Support/Code/User/mcp.json"},
				Windows: []string{"${APPDATA:-~/AppData/Roaming}/Code/User/mcp.json"},
				Project: []string{".vscode/mcp.json"},
			},
			Stdio: local().with(typed("stdio")).with(cwd), HTTP: remote("http"), SSE: remote("sse"),
			References: References{Value: "${env:%s}"}, Inputs: true, Expands: braces,
			ProjectDir: "${workspaceFolder}",
			Todo:       []string{"VS Code asks whether to trust each server when it starts it"},
			Checked:    "documentation, 2026-05",
		},
		{
			ID: "warp", Name: "Warp", Format: tree.JSON, Root: "mcpServers",
			Files: home(".warp/.mcp.json", ".warp/.mcp.json"),
			Stdio: local().with(func(s *Shape) { s.Cwd = "working_directory" }), HTTP: remote(""),
			Todo:    []string{restart},
			Checked: "documentation",
		},
		{
			ID: "windsurf", Name: "Windsurf", Format: tree.JSON, Root: "mcpServers",
			Files: home(".codeium/windsurf/mcp_config.json"),
			Stdio: local(), HTTP: &Shape{URL: "serverUrl", Headers: []string{"headers"}}, SSE: remote(""),
			DisabledTools: "disabledTools",
			References:    References{Value: "${env:%s}"}, Expands: []string{"${env:NAME}", "${file:PATH}"},
			Todo:    []string{"press refresh in its list of servers"},
			Checked: "documentation",
		},
		{
			ID: "zed", Name: "Zed", Format: tree.JSONC, Root: "context_servers",
			Files: Files{
				Linux:   []string{"${XDG_CONFIG_HOME:-~/.config}/zed/settings.json"},
				Darwin:  []string{"~/.config/zed/settings.json"},
				Windows: []string{"${APPDATA:-~/AppData/Roaming}/Zed/settings.json"},
				Project: []string{".zed/settings.json"},
			},
			Stdio: local().with(argsAlways), HTTP: remote(""),
			ProjectDir:  ".",
			ProjectTodo: []string{"allow the project: Zed asks"},
			Checked:     "source",
		},
	}
}
