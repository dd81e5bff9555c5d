// Package inspect serves a page that shows MCP servers: what they offer, forms to call
// it, every message that crosses the connection, and why a connection fails.
//
//	h := inspect.Handler([]*inspect.Source{inspect.Served("todo", src)}, nil)
//	defer h.Close()
//	mux.Handle("/inspect/", requireAdmin(http.StripPrefix("/inspect", h)))
//
// The page reads an API below api/: JSON documents, and a stream of JSON lines with
// everything that happens. All of it is in the [Inspector]; the page keeps nothing but
// its layout. Messages are kept without the credentials in them, in a ring of limited
// size.
package inspect
