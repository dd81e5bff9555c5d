package jsonscan

// KeySet notices a key that is given twice. Up to 16 keys it compares, beyond
// that it keeps a map, so that the usual object allocates nothing. The zero
// value is empty. The keys must not change while the set is in use.
type KeySet struct {
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// Add reports whether key was new.
func (s *KeySet) Add(key []byte) bool {
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
