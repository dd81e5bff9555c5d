// Package fleet turns definitions into running servers. [Open] starts the servers of a
// definitions file, joins them into one Source and follows the file: servers that were
// added, changed or removed are started, replaced or stopped without failing a call.
//
//	src, err := fleet.Open(ctx, "servers.yaml", nil)
//
// A server that cannot be started does not prevent the others from being served; it joins
// once it has started. A server whose names collide with those of another is set aside
// until they no longer do. [Await] serves a single Source while it is still being opened.
package fleet
