package jsonscan

// KeySet detects duplicate keys. It compares up to 16 keys linearly and uses a map beyond
// that, so that typical objects cause no allocation. The zero value is empty. The keys
// must not be modified while the set is in use.
type KeySet struct {
	// few has the first keys, which are compared one by one: most objects have fewer, and
	// need no map.
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// Add adds key and reports whether it was new.
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

// Duplicate returns the first duplicate key of any object in the valid JSON text raw, at
// any depth, or nil. Keys are compared in decoded form.
func Duplicate(raw []byte) (key []byte) {
	_, _ = duplicate(raw, Space(raw, 0), 0, &key) // an error only ends the search
	return key
}

// duplicate scans a value, and reports the first key that an object repeats in found.
func duplicate(raw []byte, i, depth int, found *[]byte) (int, error) {
	if i >= len(raw) {
		return i, unexpected(raw, i)
	}
	switch raw[i] {
	case '{':
		var keys KeySet
		return Object(raw, i, depth, func(key []byte, i int) (int, error) {
			if !keys.Add(key) {
				*found = key
				return i, fail(i, "duplicate key")
			}
			return duplicate(raw, i, depth+1, found)
		})
	case '[':
		return Array(raw, i, depth, func(i int) (int, error) {
			return duplicate(raw, i, depth+1, found)
		})
	}
	return ValueAt(raw, i, depth)
}

// IndexSet is a set of small indexes, such as those of the fields of a struct. Indexes
// below 128 cause no allocation. The zero value is empty.
type IndexSet struct {
	// small has a bit for each index below 128, large those above.
	small [2]uint64
	large []uint64
}

// Add adds i and reports whether it was new.
func (s *IndexSet) Add(i int) bool {
	isNew := !s.Has(i)
	word := i / 64
	if word < len(s.small) {
		s.small[word] |= 1 << (i % 64)
		return isNew
	}
	word -= len(s.small)
	for len(s.large) <= word {
		s.large = append(s.large, 0)
	}
	s.large[word] |= 1 << (i % 64)
	return isNew
}

// Has reports whether i was added.
func (s *IndexSet) Has(i int) bool {
	word := i / 64
	if word < len(s.small) {
		return s.small[word]>>(i%64)&1 == 1
	}
	word -= len(s.small)
	return word < len(s.large) && s.large[word]>>(i%64)&1 == 1
}
