package clients

import (
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/stax"
)

// login adds the settings of a login to the entry of a client that logs in itself. What it
// cannot represent is a loss, so that Auto chooses the launcher, which logs in.
func (t *translator) login() {
	if len(t.server.CallerHeaders) > 0 {
		t.add(ruleLogin, "callerHeaders", "has one user: only a gateway describes its callers to server %q",
			t.server.Name)
	}
	a := t.server.Auth
	if a == nil || a.Kind == stax.AuthHeader {
		return
	}
	members := t.client.Login
	switch {
	case members == nil:
		t.add(ruleLogin, "auth", "does not log in to servers: server %q requires that", t.server.Name)
		return
	case a.Kind != stax.AuthOAuth:
		t.add(ruleLogin, "auth", "cannot log in with the kind %s", a.Kind)
		return
	}
	t.loginMember("clientId", members.ClientID, a.ClientID)
	t.loginMember("scopes", members.Scopes, strings.Join(a.Scopes, " "))
	for _, setting := range []struct {
		name string
		set  bool
	}{
		{"clientSecret", a.ClientSecret != nil},
		{"clientKey", a.ClientKey != nil},
		{"issuer", a.Issuer != ""},
		{"resource", a.Resource != ""},
		{"dpop", a.DPoP != nil && *a.DPoP},
	} {
		if setting.set {
			t.add(ruleLogin, "auth/"+setting.name, "has no setting for %s of a login", setting.name)
		}
	}
}

// loginMember adds one setting at a path of the entry.
func (t *translator) loginMember(name string, path []string, value string) {
	switch {
	case value == "":
		return
	case len(path) == 0:
		t.add(ruleLogin, "auth/"+name, "has no setting for %s of a login", name)
		return
	}
	text := jsonscan.AppendQuote(nil, value)
	for i := len(path) - 1; i > 0; i-- {
		object := append([]byte{'{'}, jsonscan.AppendQuote(nil, path[i])...)
		text = append(append(append(object, ':'), text...), '}')
	}
	for i, member := range t.special {
		if member.Name != path[0] {
			continue
		}
		// Two settings below one member: join the objects.
		joined := append(member.Value[:len(member.Value)-1:len(member.Value)-1], ',')
		t.special[i].Value = append(joined, text[1:]...)
		return
	}
	t.special = append(t.special, stax.Field{
		Name:  path[0],
		Value: text,
	})
}
