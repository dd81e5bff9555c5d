package compose_test

import (
	"context"
	"fmt"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// bank is a source with one tool, whose description can change.
type bank struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func (b *bank) Catalog(context.Context) (*mcp.Catalog, error) { return b.catalog, nil }

func (b *bank) says(description string) {
	b.catalog = &mcp.Catalog{Server: mcp.Implementation{Name: "bank", Version: "1"},
		Tools: []mcp.Tool{{Name: "balance", Description: description}}}
}

func ExampleEdit() {
	b := &bank{}
	b.says("Tells the balance.")
	ours := "Tells how much money there is."
	src, err := compose.Edit(b,
		&compose.Edits{Tools: map[string]compose.ToolEdit{"balance": {Name: "bank.balance", Description: &ours}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	cat, _ := src.Catalog(context.Background())
	fmt.Println(cat.Tools[0].Name+":", cat.Tools[0].Description)
	// Output: bank.balance: Tells how much money there is.
}
