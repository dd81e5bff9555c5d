package mcp

// keySet notices a key that is given twice. Up to 16 keys it compares, beyond
// that it keeps a map; the usual message allocates nothing.
type keySet struct {
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// add reports whether key was new.
func (s *keySet) add(key []byte) bool {
	if s.many != nil {
		if _, ok := s.many[string(key)]; ok {
			return false
		}
		s.many[string(key)] = struct{}{}
		return true
	}
	for _, k := range s.few[:s.n] {
		if string(k) == string(key) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return true
	}
	s.many = make(map[string]struct{}, 2*len(s.few))
	for _, k := range s.few {
		s.many[string(k)] = struct{}{}
	}
	s.many[string(key)] = struct{}{}
	return true
}
