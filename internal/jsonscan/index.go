package jsonscan

import "math"

// Index holds the positions of the members of one object, so that they are found without another
// scan of its text, which must not change. The zero value and nil have none: members are then found
// by a scan, with the same results. So are those of an object that has more members, or a longer
// text or name, than an Index can hold, or an escaped name.
type Index struct {
	object  *byte  // the first byte of the text, or nil
	size    uint16 // of the text
	count   uint8  // of members
	members [8]position
}

// position is where a member is in its object: name is the index of the first byte of its name, and
// gap the number of bytes between the name and the value. It is small, because each request has an
// Index.
type position struct {
	name, valueSize uint16
	nameSize, gap   uint8
}

// of returns the name and the value of the member in an object.
func (p *position) of(object []byte) (name, value []byte) {
	nameEnd := int(p.name) + int(p.nameSize)
	start := nameEnd + int(p.gap)
	return object[p.name:nameEnd], object[start : start+int(p.valueSize)]
}

// ValueAt is [ValueAt], and makes x the index of the value if that is an object.
func (x *Index) ValueAt(b []byte, i, depth int) (end int, err error) {
	x.object = nil
	if i = Space(b, i); i == len(b) || b[i] != '{' {
		return value(b, i, depth)
	}
	if depth++; depth > MaxDepth {
		return i, fail(i, "nested too deeply")
	}
	start := i
	if i = Space(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1, nil // a scan takes no longer
	}
	count, fits := 0, true
	for more := true; more; count++ {
		name, escaped, at, err := memberName(b, i)
		if err != nil {
			return at, err
		}
		end, err := value(b, at, depth)
		if err != nil {
			return end, err
		}
		gap := at - (i + 1 + len(name))
		fits = fits && !escaped && count < len(x.members) && max(len(name), gap) <= math.MaxUint8
		if fits {
			x.members[count] = position{
				name:      uint16(i + 1 - start),
				nameSize:  uint8(len(name)),
				gap:       uint8(gap),
				valueSize: uint16(end - at),
			}
		}
		if i, more, err = afterMember(b, end); err != nil {
			return i, err
		}
	}
	if size := i - start; fits && size <= math.MaxUint16 {
		x.object = &b[start]
		x.size = uint16(size)
		x.count = uint8(count)
	}
	return i, nil
}

// of reports whether x has the members of raw.
func (x *Index) of(raw []byte) bool {
	return x != nil && len(raw) > 0 && len(raw) == int(x.size) && &raw[0] == x.object
}

// Member is [Member].
func (x *Index) Member(raw []byte, name string) (value []byte) {
	if !x.of(raw) {
		return Member(raw, name)
	}
	for i := range x.members[:x.count] {
		if key, v := x.members[i].of(raw); string(key) == name {
			value = v
		}
	}
	return value
}

// OnlyMember is [OnlyMember].
func (x *Index) OnlyMember(raw []byte, name string) (value, rival []byte) {
	if !x.of(raw) {
		return OnlyMember(raw, name)
	}
	for i := range x.members[:x.count] {
		key, v := x.members[i].of(raw)
		same := string(key) == name
		if same && value != nil || !same && equalFold(key, name) {
			rival = append([]byte{}, key...)
		}
		if same {
			value = v
		}
	}
	return value, rival
}
