package clients

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/stax"
)

// tableFiles has a file for each client, named after its id: codex.json describes Codex.
// schema.json explains their members.
//
//go:embed table/*.json
var tableFiles embed.FS

// All returns the table of clients, sorted by id. Their contents are shared and read-only.
func All() []Client { return slices.Clone(readTable()) }

// readTable returns the clients of the embedded table, by id. It is parsed once, on first use,
// and a malformed entry is a mistake of the build.
var readTable = sync.OnceValue(func() []Client {
	entries, err := tableFiles.ReadDir("table")
	if err != nil {
		panic(err)
	}
	var all []Client
	for _, entry := range entries {
		text, err := tableFiles.ReadFile(path.Join("table", entry.Name()))
		if err != nil {
			panic(err)
		}
		c := Client{ID: strings.TrimSuffix(entry.Name(), ".json")}
		if err := json.Unmarshal(text, &c); err != nil {
			panic(fmt.Errorf("table/%s: %w", entry.Name(), err))
		}
		all = append(all, c)
	}
	return all
})

// Members are members with fixed values, in the order in which they are written. In the
// table they are an object.
type Members []stax.Field

// UnmarshalJSON implements json.Unmarshaler.
func (m *Members) UnmarshalJSON(text []byte) error {
	for _, f := range jsonscan.Members(text) {
		*m = append(*m, stax.Field{
			Name:  string(f.Name),
			Value: slices.Clone(f.Value),
		})
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. In the table, "all" are paths that all systems
// have in common.
func (f *Files) UnmarshalJSON(text []byte) error {
	type systems Files // without this method
	own := struct {
		systems
		All []string
	}{}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	*f = Files(own.systems)
	if own.All != nil {
		f.Linux = own.All
		f.Darwin = own.All
		f.Windows = own.All
	}
	return nil
}
