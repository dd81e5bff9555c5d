package sitewriter

// Spooled returns how much of its temporary file a Memory uses.
func (m *Memory) Spooled() int64 { return m.tree.Load().end }
