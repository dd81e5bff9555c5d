package staticmcp_test

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp"
)

func ExampleEncodeName() {
	fmt.Println(staticmcp.EncodeName("François Mitterrand"))
	fmt.Println(staticmcp.EncodeName("COVID-19 pandemic"))
	fmt.Println(staticmcp.EncodeName("docs/Read Me.md"))
	fmt.Println(staticmcp.EncodeName("I ♥ 東京"))
	fmt.Println(len(staticmcp.EncodeName(strings.Repeat("a very long title ", 50))))
	// Output:
	// francois_mitterrand
	// covid-19_pandemic
	// docs_read_me_md
	// i_____
	// 200
}
