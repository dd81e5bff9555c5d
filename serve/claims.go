package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// ClaimOptions select the claims of a token that become part of its [mcp.Principal]. All
// other claims are dropped.
//
// A path is the name of a claim, or names separated by dots for a member of an object in it:
// "groups", "realm_access.roles". A name that contains dots itself, such as an address, is
// tried first. "*" matches every member. A path through an array applies to each of its
// elements. The values are strings, numbers, booleans, or arrays of these; a string is one
// value, even with blanks.
type ClaimOptions struct {
	// Groups and Roles are the paths of the caller's groups and roles; the values of several
	// paths are joined.
	Groups, Roles []string
	// Tenant is the path of the caller's tenant: a single value.
	Tenant string
	// Other are the paths of additional claims, by the name under which handlers and policies
	// see them.
	Other map[string][]string
	// AllowNoAudience accepts tokens that have no aud. An issuer that omits it issues tokens
	// for any of its servers, and each of these could use a token of its clients here.
	AllowNoAudience bool
	// AllowNoSubject accepts tokens that have no sub, as of some programs. The client is then
	// the caller.
	AllowNoSubject bool
}

// Limits of claims. A token beyond them is not valid: dropping a value could drop the group
// that a rule denies something.
const (
	maxClaimValues = 1000
	maxClaimBytes  = 64 << 10
	maxClaimPaths  = 64
	maxClaimDepth  = 8
)

// claimPaths are parsed ClaimOptions.
type claimPaths struct {
	// Paths are as in ClaimOptions; other has those of named claims.
	groups, roles []string
	tenant        string
	other         map[string][]string
}

// parse checks the paths.
func (o *ClaimOptions) parse() (*claimPaths, error) {
	p := &claimPaths{
		groups: o.Groups,
		roles:  o.Roles,
		tenant: o.Tenant,
		other:  o.Other,
	}
	all := slices.Concat(o.Groups, o.Roles)
	if o.Tenant != "" {
		all = append(all, o.Tenant)
	}
	for name, paths := range o.Other {
		if name == "" {
			return nil, fmt.Errorf("claim %q has no name", strings.Join(paths, ", "))
		}
		all = append(all, paths...)
	}
	if len(all) > maxClaimPaths {
		return nil, fmt.Errorf("%d claim paths, want at most %d", len(all), maxClaimPaths)
	}
	for _, path := range all {
		if path == "" ||
			strings.Count(path, ".") >= maxClaimDepth && !strings.Contains(path, "/") {
			return nil, fmt.Errorf("claim path %q: want names separated by dots, at most %d", path, maxClaimDepth)
		}
	}
	return p, nil
}

// apply adds the mapped claims of a token to its principal.
func (p *claimPaths) apply(to *mcp.Principal, claims map[string]json.RawMessage) error {
	found := claimReader{claims: claims}
	to.Groups = found.values(p.groups)
	to.Roles = found.values(p.roles)
	if p.tenant != "" {
		tenants := found.values([]string{p.tenant})
		if len(tenants) > 1 {
			return invalid("%d values of the tenant claim %s", len(tenants), p.tenant)
		}
		to.Tenant = strings.Join(tenants, "")
	}
	for _, name := range slices.Sorted(maps.Keys(p.other)) {
		values := found.values(p.other[name])
		if len(values) == 0 {
			continue
		}
		if to.Claims == nil {
			to.Claims = make(map[string][]string, len(p.other))
		}
		to.Claims[name] = values
	}
	return found.err
}

// claimReader collects values of claims, within the limits.
type claimReader struct {
	claims map[string]json.RawMessage
	// count and bytes are of the values so far, and err is set once a limit is exceeded.
	count, bytes int
	err          error
}

// values returns the different values at some paths, in the order in which they are found.
func (r *claimReader) values(paths []string) []string {
	var values []string
	for _, path := range paths {
		top, rest, _ := strings.Cut(path, ".")
		if _, whole := r.claims[path]; whole {
			top = path
			rest = ""
		}
		if r.isElsewhere(top) {
			r.err = invalid("the issuer left out the claim %s, which has too many values for a token", top)
			return nil
		}
		raw, ok := r.claims[top]
		if !ok {
			continue
		}
		var value any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			r.err = invalid("claim %s: %w", top, err)
			return nil
		}
		r.collect(&values, value, rest)
	}
	return values
}

// isElsewhere reports whether the issuer only says where a claim can be fetched (OpenID
// Connect Core, section 5.6.2), as Microsoft Entra does for users with many groups.
func (r *claimReader) isElsewhere(name string) bool {
	var names map[string]json.RawMessage
	raw, ok := r.claims["_claim_names"]
	if !ok || json.Unmarshal(raw, &names) != nil {
		return false
	}
	_, ok = names[name]
	return ok
}

// collect adds the values at a path in value.
func (r *claimReader) collect(values *[]string, value any, path string) {
	if list, ok := value.([]any); ok {
		for _, element := range list {
			r.collect(values, element, path)
		}
		return
	}
	if path == "" {
		r.add(values, value)
		return
	}
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	if member, whole := object[path]; whole {
		r.collect(values, member, "")
		return
	}
	name, rest, _ := strings.Cut(path, ".")
	if name != "*" {
		if member, ok := object[name]; ok {
			r.collect(values, member, rest)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		r.collect(values, object[name], rest)
	}
}

// add adds one value, unless it is an object, null or a repetition.
func (r *claimReader) add(values *[]string, value any) {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		text = fmt.Sprint(v)
	}
	if text == "" || slices.Contains(*values, text) {
		return
	}
	r.count++
	r.bytes += len(text)
	if r.count > maxClaimValues || r.bytes > maxClaimBytes {
		r.err = invalid("the mapped claims have more than %d values or %d bytes", maxClaimValues, maxClaimBytes)
		return
	}
	*values = append(*values, text)
}
