package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/stax"
)

// loginFlags are the flags of slipway login.
type loginFlags struct {
	settings identity.Settings
	// clientSecret, clientKey and assertion name files: secrets must not be on the command line.
	clientSecret string
	clientKey    string
	assertion    string
	device       bool

	// browser is the command that opens a page; noBrowser prints the address instead.
	browser   string
	noBrowser bool
	timeout   time.Duration

	// list and rekey replace the login: they list logins, or change the key of the store.
	list, rekey bool
	sources     sourceFlags
}

func newLogin() *cobra.Command {
	f := &loginFlags{timeout: 10 * time.Minute}
	cmd := &cobra.Command{
		Use:   "login [FILE...] [SERVER|URL]",
		Short: "Log in to a server that requires OAuth",
		Long: `Log in to a server, and store its token encrypted for this user. ls, call, add,
serve and all other commands then use it and refresh it. On a terminal they
offer the login themselves.

The page to open is always printed, with its host, issuer and scopes. If the
browser is on another machine, paste the address to which it returns, even if
that page cannot be loaded, or use --device. $BROWSER replaces the default
browser.

SERVER is the name of a server in FILE, by default in the definitions that
"slipway add" writes. Its auth member has the same settings as the flags, and
those of the grants exchange and id-jag; flags take precedence.

Without a client ID, Slipway registers itself if the authorization server allows
that. Secrets are read from files or stdin, never from the command line, and are
sent only to the issuer that --issuer names, or to which an earlier login sent
such a secret.

Logins are in the state folder; the key that encrypts them is in the keychain
or, without one, in a file that only this user can read.
SLIPWAY_STORE_KEY=file:PATH selects another file.`,
		Example: `  slipway login https://mcp.example.com/mcp
  slipway login https://mcp.example.com/mcp --device
  slipway login https://mcp.example.com/mcp --client-id Iv1.x \
      --client-secret secret.txt --issuer https://id.example.com
  slipway login --list`,
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.settings.Scopes, "scope", nil,
		"`scope` to ask for, instead of those that the server names (repeatable)")
	flags.StringVar(&f.settings.Client.ID, "client-id", "",
		"client `ID` issued by the authorization server, or the https URL of a client ID metadata document")
	flags.StringVar(&f.clientSecret, "client-secret", "", "`file` with the secret of the client; - reads it from stdin")
	flags.StringVar(&f.clientKey, "client-key", "", "PEM `file` with the private key of the client (private_key_jwt)")
	flags.StringVar(&f.settings.Issuer, "issuer", "",
		"`URL` of the authorization server: one of several that the server names, or the one that gets a secret")
	flags.Var(oneOf((*string)(&f.settings.Grant), "code", "device", "client", "jwt-bearer"), "grant",
		"`grant` to use: code, device, client, jwt-bearer")
	flags.StringVar(&f.assertion, "assertion", "", "`file` with the assertion of the grant jwt-bearer")
	flags.BoolVar(&f.device, "device", false, "log in with a browser on another device (--grant device)")
	flags.BoolVar(&f.noBrowser, "no-browser", false, "do not open a browser; print the address only")
	flags.StringVar(&f.browser, "browser", "", "`command` that opens the page instead of the default browser")
	flags.Var(within(&f.settings.CallbackPort, 0, 65535), "callback-port",
		"`port` of this machine to which the browser returns, as registered (default: any free one)")
	flags.Var(longerThanZero(&f.timeout), "timeout", "how long to wait for the browser")
	flags.BoolVar(&f.settings.DPoP, "dpop", false, "demand a token that is bound to a key of this machine")
	flags.BoolVar(&f.settings.OmitResource, "omit-resource", false,
		"omit the resource parameter, for authorization servers that refuse it (Microsoft Entra ID)")
	flags.BoolVar(&f.settings.AssumePKCE, "assume-pkce", false,
		"log in although the authorization server does not announce PKCE")
	flags.BoolVar(&f.list, "list", false, "list the stored logins")
	flags.BoolVar(&f.rekey, "rekey", false, "encrypt the stored logins with a new key")
	f.sources.flags(cmd)
	networkFlag(cmd)
	jsonFlag(cmd, "the login, or the list")
	groupFlags(cmd, "Client", "client-id", "client-secret", "client-key", "assertion", "issuer", "scope", "grant")
	groupFlags(cmd, "Browser", "device", "no-browser", "browser", "callback-port", "timeout")
	groupFlags(cmd, "Stored logins", "list", "rekey")
	return cmd
}

// run logs in to one server, or with --list and --rekey acts on the store of logins. It waits
// for the user in the browser at most --timeout.
func (f *loginFlags) run(cmd *cobra.Command, args []string) error {
	store, err := credentialStore(cmd)
	if err != nil {
		return err
	}
	allow, err := networks(cmd)
	if err != nil {
		return err
	}
	c, err := newIdentity(cmd, allow, nil)
	if err != nil {
		return err
	}
	switch {
	case (f.list || f.rekey) && len(args) > 0:
		return usage("usage: "+cmd.UseLine(), "login: --list and --rekey take no argument")
	case f.list:
		return listLogins(cmd, c)
	case f.rekey:
		if err := store.Rekey(cmd.Context()); err != nil {
			return err
		}
		say(cmd.ErrOrStderr(), "the stored logins are encrypted with a new key")
		return nil
	case len(args) == 0:
		return usage("usage: "+cmd.UseLine(), "login: missing argument SERVER or URL")
	}
	server, settings, err := f.target(cmd, args)
	if err != nil {
		return err
	}
	login, err := c.Login(cmd.Context(), server, &identity.LoginOptions{
		Settings:    settings,
		Interaction: f.interaction(cmd),
		Timeout:     f.timeout,
	})
	if err != nil {
		return loginError(cmd, server, err)
	}
	sayLoggedIn(cmd, login)
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), shownLogin(login))
	}
	return nil
}

// target returns the server to log in to, and how.
func (f *loginFlags) target(cmd *cobra.Command, args []string) (string, *identity.Settings, error) {
	last := args[len(args)-1]
	if strings.Contains(last, "://") {
		if len(args) > 1 {
			return "", nil, usage("usage: "+cmd.UseLine(), "login: unexpected argument %q", args[0])
		}
		settings, err := f.complete(cmd)
		return strings.TrimPrefix(last, "live:"), settings, err
	}
	return f.defined(cmd, args[:len(args)-1], last)
}

// complete returns the settings of the flags.
func (f *loginFlags) complete(cmd *cobra.Command) (*identity.Settings, error) {
	s := &f.settings
	if f.device {
		if s.Grant != "" && s.Grant != identity.Device {
			return nil, usage("use one of them", "login: both --device and --grant %s", s.Grant)
		}
		s.Grant = identity.Device
	}
	s.Client.Secret = secretFile(cmd, f.clientSecret)
	s.Client.Key = secretFile(cmd, f.clientKey)
	s.Exchange.Token = secretFile(cmd, f.assertion)
	if err := s.Check(); err != nil {
		return nil, usage("see slipway login --help", "login: %v", err)
	}
	return s, nil
}

// secretFile returns the content of a file, or of stdin for -. Without a name it is nil.
func secretFile(cmd *cobra.Command, name string) identity.Secret {
	const limit = 64 << 10
	switch name {
	case "":
		return nil
	case "-":
		return func(context.Context) (string, error) {
			text, err := fsutil.ReadLimited(cmd.InOrStdin(), limit)
			return string(text), err
		}
	}
	return secretInFile(name)
}

// interaction returns how the login reaches the user.
func (f *loginFlags) interaction(cmd *cobra.Command) *identity.Interaction {
	openPage := openLoginPage
	switch {
	case f.noBrowser:
		openPage = nil
	case f.browser != "":
		openPage = openWith(f.browser)
	}
	var paste func(context.Context) (string, error)
	file, ok := cmd.InOrStdin().(*os.File)
	if f.clientSecret != "-" && (!ok || isTerminal(file) || f.noBrowser) {
		paste = readLines(cmd.InOrStdin())
	}
	return interaction(cmd, openPage, paste)
}

// loginJSON is a login in the output of --json. Fields may be added.
type loginJSON struct {
	Server  string     `json:"server"`
	Issuer  string     `json:"issuer"`
	Client  string     `json:"client"`
	Grant   string     `json:"grant"`
	Scopes  []string   `json:"scopes"`
	Expires *time.Time `json:"expires,omitempty"`
	// Refreshable reports that the login outlasts its token, Bound that the token is bound to a key
	// (DPoP), and Ended why the login must be repeated.
	Refreshable bool   `json:"refreshable"`
	Bound       bool   `json:"bound"`
	Ended       string `json:"ended,omitempty"`
}

// shownLogin returns a login as --json prints it: without tokens, and without secrets in
// URLs.
func shownLogin(l *identity.Login) *loginJSON {
	shown := &loginJSON{
		Server:      secrets.URL(l.Server),
		Issuer:      secrets.URL(l.Issuer),
		Client:      l.Client,
		Grant:       string(l.Grant),
		Scopes:      append([]string{}, l.Scopes...),
		Refreshable: l.Refreshable,
		Bound:       l.Bound,
		Ended:       l.Ended,
	}
	if !l.Expires.IsZero() {
		shown.Expires = &l.Expires
	}
	return shown
}

// listLogins prints the stored logins, never their tokens.
func listLogins(cmd *cobra.Command, c *identity.Client) error {
	logins, err := c.Logins()
	if err != nil {
		return err
	}
	all := []*loginJSON{}
	for _, l := range logins {
		all = append(all, shownLogin(l))
	}
	return showList(cmd, "logins", all, func(w io.Writer, all []*loginJSON) error {
		if len(all) == 0 {
			hint(cmd.ErrOrStderr(), "no logins yet; slipway login URL adds one")
			return nil
		}
		rows := [][]string{{"SERVER", "ISSUER", "SCOPES", "EXPIRES"}}
		for _, l := range all {
			rows = append(rows, []string{
				visible.Line(l.Server), visible.Line(l.Issuer),
				cmp.Or(strings.Join(l.Scopes, " "), "-"), l.validity(time.Now()),
			})
		}
		out := newLayout(w)
		out.grid("", rows, 2, 1)
		return out.flush()
	})
}

// validity says in words how long a login is valid.
func (l *loginJSON) validity(now time.Time) string {
	switch {
	case l.Ended != "":
		return "log in again: " + visible.Line(l.Ended)
	case l.Expires == nil:
		return "when revoked"
	case l.Refreshable:
		return "renewed automatically"
	case l.Expires.Before(now):
		return "expired"
	}
	return l.Expires.Local().Format(time.DateTime)
}

// defined returns a server of definitions, and the settings of its auth member.
func (f *loginFlags) defined(
	cmd *cobra.Command,
	files []string,
	name string,
) (string, *identity.Settings, error) {
	var d definitions
	settings, err := f.complete(cmd)
	if err != nil {
		return "", nil, err
	}
	files, err = defaultFiles(cmd, files, nil)
	if err != nil {
		return "", nil, err
	}
	merged, err := d.validFor(cmd, files, name)
	if err != nil {
		return "", nil, err
	}
	server := merged.Config.Server(name)
	if server == nil {
		known := names(merged.Config.Servers, func(s stax.Server) string { return s.Name })
		return "", nil, no(didYouMean(name, known, "name a server of the definitions, or a URL"),
			"%s: there is no server %q", cmd.Name(), name)
	}
	if !server.Remote() {
		return "", nil, no("its credentials are secrets: slipway config secrets lists them",
			"%s: server %q is a local program", cmd.Name(), name)
	}
	resolver, err := f.sources.resolver()
	if err != nil {
		return "", nil, err
	}
	defined := resolver.Login(merged, server)
	if defined == nil {
		return server.URL, settings, nil
	}
	return server.URL, withFlags(defined, settings), nil
}

// withFlags returns the settings of definitions with those of flags on top.
func withFlags(defined, flags *identity.Settings) *identity.Settings {
	s := *defined
	if flags.Grant != "" {
		s.Grant = flags.Grant
	}
	if len(flags.Scopes) > 0 {
		s.Scopes = flags.Scopes
	}
	if flags.Client.ID != "" {
		s.Client = flags.Client
	}
	if flags.Exchange.Token != nil {
		s.Exchange.Token = flags.Exchange.Token
	}
	s.Issuer = cmp.Or(flags.Issuer, s.Issuer)
	s.CallbackPort = cmp.Or(flags.CallbackPort, s.CallbackPort)
	s.DPoP = s.DPoP || flags.DPoP
	s.OmitResource = s.OmitResource || flags.OmitResource
	s.AssumePKCE = s.AssumePKCE || flags.AssumePKCE
	return &s
}
