// Package arch verifies the architecture of the module: the layer of each package,
// the packages that may import each third-party module, and a few conventions that keep
// packages easy to find. Layers are called floors, packages rooms, and third-party
// modules guests. [Layers] is the plan; the tests compare the source tree with it.
//
// The sources are read with go/parser. A "go list" subprocess would return the same
// facts, but the test cache does not track the files it reads, so a cached "ok" would
// outlive the change that broke a rule.
package arch

// Plan is the intended architecture.
type Plan struct {
	// Floors lists the packages of each floor, lowest floor first, as folders relative to the
	// module root. Every package is listed, and every listed package exists.
	Floors [][]string
	// Depth is the largest number of imports in a chain of packages of this module.
	// Tests and what only they import do not count.
	Depth int
	// Guests are the third-party modules that may be imported.
	Guests []Guest
	// Globals are the package-level variables that may change, as FOLDER.NAME, with what of
	// the whole process each is about.
	Globals map[string]string
}

// Guest is a third-party module, with the reason for using it.
type Guest struct {
	// Module is the module path.
	Module string
	// Rooms are the packages that may import it.
	Rooms []string
	// Tests allows imports in all test files.
	Tests bool
	// Saves describes what we would otherwise write or maintain ourselves.
	Saves string
	// Brings lists the modules in go.mod that it requires.
	Brings []string
}

// Layers returns the plan of this module.
//
// Add new packages to a floor here; add new third-party modules here and in a record in
// docs/decisions. The module's tools (scripts), its examples and its conformance server
// are programs and are on the top floor, like the command.
func Layers() *Plan {
	return &Plan{
		Globals: map[string]string{
			"internal/frugal.turn": "the percentage of the garbage collector, which the process has once",
		},
		Floors: [][]string{
			0: {
				"internal/axe", "internal/barrier", "internal/base64url", "internal/canonical", "internal/chromium",
				"internal/clientaddr", "internal/decimal", "internal/engineurl",
				"internal/frugal", "internal/fsutil", "internal/glob", "internal/hophttp",
				"internal/js", "internal/jsonscan", "internal/lazyregexp", "internal/lines", "internal/mediatype",
				"internal/nearest",
				"internal/neterror",
				"internal/netguard", "internal/order", "internal/packs", "internal/pagecache", "internal/pathglob", "internal/peer",
				"internal/process", "internal/schema", "internal/secrets", "internal/style", "internal/tree",
				"internal/urilabel", "internal/uritemplate", "internal/visible", "internal/wordvec", "sitebuild/internal/webpage",
				"mcpb/internal/cms",
				"internal/test/arch", "internal/test/authtest", "internal/test/doc", "internal/test/freeaddr",
				"internal/test/fuzzbound",
				"internal/test/naivesite", "internal/test/natstest", "internal/test/policytest", "internal/test/race",
				"internal/test/redistest",
			},
			1: {"check", "cluster", "mcp", "mcp/tap", "sitebuild/internal/convert"},
			2: {"internal/nats", "internal/redis", "identity", "identity/policy", "internal/cataloglint", "internal/search",
				"internal/servercard",
				"internal/test/cutengine", "internal/test/ruletest", "internal/site"},
			3: {"apps", "cluster/engine", "compose", "internal/broker", "lock", "mcp/server", "staticmcp", "stax/internal/edit"},
			4: {"internal/eval", "internal/sitelint", "client", "internal/edge", "internal/loopback",
				"internal/siteapps", "mcp/mcptest", "mcpb/internal/zip", "router",
				"internal/sitewriter", "ws"},
			5: {
				"internal/mcplog", "internal/telemetry", "mcpb", "stax", "staticmcp/freeze", "sitebuild/internal/docs",
				"sitebuild/internal/data", "sitebuild/internal/gopkg", "sitebuild/internal/openapi", "sitebuild/internal/table",
				"internal/test/registrytest", "internal/test/sitetest", "internal/test/tabletest", "internal/project",
			},
			6: {"fleet", "internal/calltest", "internal/settings", "serve", "stax/clients", "internal/registry"},
			7: {"internal/doctor", "internal/test/simulation", "sitebuild"},
			8: {"inspect", "open"},
			9: {
				"cmd/slipway", "examples/embedded", "examples/http-reference-source", "examples/todo", "examples/weather",
				"internal/test/appservers", "internal/test/conformance", "internal/test/conformance/apps",
				"scripts/conformancereport", "scripts/journeys", "scripts/mcpbreference",
			},
		},
		Depth: 7,
		Guests: []Guest{
			{
				Module: "github.com/spf13/cobra",
				Rooms:  []string{"cmd/slipway"},
				Saves:  "commands, flags, help, shell completion and their many small conventions",
				Brings: []string{"github.com/inconshreveable/mousetrap"},
			},
			{
				Module: "github.com/spf13/pflag",
				Rooms:  []string{"cmd/slipway"},
				Saves:  "nothing by itself: it is the type of cobra's flags",
			},
			{
				Module: "github.com/coder/websocket",
				Rooms:  []string{"ws"},
				Saves:  "WebSocket frames, handshakes and their attacks; it has no dependencies of its own",
			},
			{
				Module: "golang.org/x/sys",
				Rooms:  []string{"cmd/slipway", "internal/fsutil", "internal/glob", "internal/process", "mcpb"},
				Saves: "what package syscall lacks on Windows: locks and access lists of files, jobs of " +
					"processes, modes of consoles, and the folders of the user",
			},
			{
				Module: "golang.org/x/term",
				Rooms:  []string{"cmd/slipway"},
				Saves:  "typing a secret without showing it, on every system",
				Brings: []string{"golang.org/x/sys"},
			},
			{
				Module: "github.com/clipperhouse/displaywidth",
				Rooms:  []string{"internal/style"},
				Saves:  "how many columns of a terminal a text takes: the tables and grapheme clusters of Unicode",
				Brings: []string{"github.com/clipperhouse/uax29/v2"},
			},
			{
				Module: "github.com/go-jose/go-jose/v4",
				Rooms:  []string{"identity", "internal/broker", "serve"},
				Saves: "signatures of tokens and formats of keys, with the accepted algorithms demanded at every call; it has " +
					"no dependencies of its own",
			},
			{
				Module: "github.com/cedar-policy/cedar-go",
				Rooms:  []string{"identity/policy"},
				Saves: "a language for access rules with precedence, types and a validator, and its evaluator; see " +
					"docs/decisions/0081-policy-in-cedar.md",
				Brings: []string{"github.com/go-json-experiment/json", "golang.org/x/exp"},
			},
			{
				Module: "github.com/gomodule/redigo",
				Rooms:  []string{"internal/redis"},
				Saves: "the protocol of Redis and Valkey with TLS, scripts and a pool of connections, for 0.1 MB; see " +
					"docs/decisions/0084-clusters.md",
			},
			{
				Module: "github.com/nats-io/nats.go",
				Rooms:  []string{"internal/nats"},
				Saves: "the protocol of NATS, with TLS, reconnecting to other servers and four ways to log in, for 0.4 MB; see " +
					"docs/decisions/0090-nats.md",
				Brings: []string{"github.com/nats-io/nuid", "golang.org/x/crypto"},
			},
			{
				Module: "github.com/nats-io/nkeys",
				Rooms:  []string{"internal/nats"},
				Tests:  true,
				Saves:  "seeds and credentials files of NATS; nats.go brings it",
			},
			{
				Module: "github.com/klauspost/compress",
				Rooms:  []string{"mcpb", "mcpb/internal/zip"},
				Saves: "packing bundles in a third of the CPU time of compress/flate; only its package flate is linked, and it " +
					"has no dependencies of its own",
			},
			{
				Module: "github.com/temoto/robotstxt",
				Rooms:  []string{"sitebuild/internal/docs"},
				Saves:  "robots.txt: which pages a crawl may fetch, by longest matches, wildcards and statuses",
			},
			{
				Module: "golang.org/x/net",
				Rooms:  []string{"sitebuild/internal/webpage"},
				Saves: "the HTML parser, which reads broken pages as browsers do; only its packages html and html/atom are " +
					"linked; see docs/decisions/0088-rendered-html.md",
			},
			{
				Module: "golang.org/x/text",
				Rooms:  []string{"mcpb/internal/zip", "sitebuild/internal/docs", "sitebuild/internal/webpage"},
				Saves: "Unicode normalization: which two names are one on some file systems, and what generators make of " +
					"headings; and the encodings of pages that are not UTF-8, UTF-16 and those with one byte for each character",
			},
			{
				Module: "modernc.org/sqlite",
				Rooms:  []string{"sitebuild/internal/table"},
				Saves:  "SQLite itself, translated to Go: every table, view and write-ahead log that there is",
				Brings: []string{
					"github.com/dustin/go-humanize", "github.com/google/uuid", "github.com/mattn/go-isatty",
					"github.com/ncruces/go-strftime", "github.com/remyoudompheng/bigfft", "modernc.org/libc",
					"modernc.org/mathutil", "modernc.org/memory",
				},
			},
			{
				Module: "github.com/fsnotify/fsnotify",
				Rooms:  []string{"open"},
				Saves:  "what each system announces about changed files; it has no dependencies but x/sys",
			},
			{
				Module: "github.com/yuin/goldmark",
				Rooms:  []string{"sitebuild/internal/docs"},
				Saves:  "Markdown by the letter of CommonMark, with tables; it has no dependencies of its own",
			},
			{
				Module: "github.com/blevesearch/snowballstem",
				Rooms:  []string{"internal/search"},
				Saves:  "stems of words in 15 languages; it has no dependencies of its own",
			},
			{
				Module: "go.yaml.in/yaml/v3",
				Rooms: []string{"stax", "stax/clients", "stax/internal/edit", "internal/tree",
					"sitebuild/internal/docs", "cmd/slipway"},
				Saves: "YAML, with the line and column of each value; it has no dependencies of its own",
			},
			{
				Module: "github.com/pelletier/go-toml/v2",
				Rooms:  []string{"stax", "stax/internal/edit", "internal/tree", "mcpb", "sitebuild/internal/docs"},
				Saves:  "TOML, with the bytes of each value; it has no dependencies of its own",
			},
			{
				Module: "github.com/zalando/go-keyring",
				Rooms:  []string{"identity", "stax"},
				Saves:  "the keychains of three operating systems, without cgo",
				Brings: []string{"github.com/danieljoos/wincred", "github.com/godbus/dbus/v5"},
			},
			{
				Module: "go.opentelemetry.io/otel",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "spans, samplers, attributes and W3C Trace Context, as other OpenTelemetry programs have them",
				Brings: []string{
					"github.com/cespare/xxhash/v2", "github.com/go-logr/logr", "github.com/go-logr/stdr",
					"go.opentelemetry.io/auto/sdk",
				},
			},
			{
				Module: "go.opentelemetry.io/otel/metric",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "the interfaces of metrics; part of OpenTelemetry",
			},
			{
				Module: "go.opentelemetry.io/otel/trace",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "the interfaces of traces; part of OpenTelemetry",
			},
			{
				Module: "go.opentelemetry.io/otel/sdk",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "sampling, batching and resources of traces, with the variables of the standard",
			},
			{
				Module: "go.opentelemetry.io/otel/sdk/metric",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "aggregation of metrics, limits of cardinality, and exemplars",
			},
			{
				Module: "go.opentelemetry.io/otel/sdk/log",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "batching of log records",
				Brings: []string{"go.opentelemetry.io/otel/log"},
			},
			{
				Module: "go.opentelemetry.io/contrib/bridges/otelslog",
				Rooms:  []string{"internal/telemetry"},
				Saves:  "the conversion of slog records to those of OpenTelemetry",
			},
			{
				Module: "github.com/google/jsonschema-go",
				Tests:  true,
				Saves: "a second opinion: the tests hold our compiled schemas against it, and our messages against the " +
					"specification's schemas",
			},
			{
				Module: "github.com/rogpeppe/go-internal",
				Rooms:  []string{"stax", "stax/clients", "lock", "mcp/mcptest"},
				Tests:  true,
				Saves: "scripts that run the real command (testscript) and archives of small files (txtar), and its diff, which " +
					"is one file",
				Brings: []string{"golang.org/x/sys", "golang.org/x/tools"},
			},
			{
				Module: "github.com/smallstep/pkcs7",
				Tests:  true,
				Saves:  "a second opinion on the signatures of bundles; it cannot read those in use, see docs/decisions",
			},
			{
				Module: "github.com/google/go-cmp",
				Tests:  true,
				Saves:  "readable differences between structures",
			},
		},
	}
}
