package search

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// texts numbers different texts, from 0 in the order in which they are added. An index has
// hundreds of thousands of them, so that there is no pointer for each, which the garbage collector
// would follow. The zero value has none.
type texts struct {
	data []byte
	ends []int // of each text in data
	// slots leads from the hash of a text to its number: the lower half is the number plus one, or
	// 0, and the upper one is that of the hash. The lower half of the hash says where to begin.
	slots []uint64
}

// textSeed is that of the hashes, which no result depends on.
var textSeed = maphash.MakeSeed()

// find returns the number of a text, or -1, and the slot that it has or would have.
func (t *texts) find(text []byte, hash uint64) (number, slot int) {
	mask := len(t.slots) - 1
	for at := int(hash) & mask; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			return -1, at
		}
		if n := int(uint32(s)) - 1; s>>32 == hash>>32 && bytes.Equal(t.at(n), text) {
			return n, at
		}
	}
}

// known returns the number of a text that was added, or -1.
func (t *texts) known(text []byte) int {
	if len(t.slots) == 0 {
		return -1
	}
	n, _ := t.find(text, maphash.Bytes(textSeed, text))
	return n
}

// number returns the number of a text, which is added unless it has one.
func (t *texts) number(text []byte) int {
	if 4*len(t.ends) >= 3*len(t.slots) {
		t.grow()
	}
	hash := maphash.Bytes(textSeed, text)
	n, slot := t.find(text, hash)
	if n < 0 {
		n = len(t.ends)
		t.data = append(t.data, text...)
		t.ends = append(t.ends, len(t.data))
		t.slots[slot] = hash>>32<<32 | uint64(uint32(n+1))
	}
	return n
}

// grow doubles the slots.
func (t *texts) grow() {
	const first = 1 << 8
	t.slots = make([]uint64, max(first, 2*len(t.slots)))
	mask := len(t.slots) - 1
	for n := range t.ends {
		hash := maphash.Bytes(textSeed, t.at(n))
		at := int(hash) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = hash>>32<<32 | uint64(uint32(n+1))
	}
}

// count returns how many texts there are.
func (t *texts) count() int { return len(t.ends) }

// at returns the text with a number. It must not be modified.
func (t *texts) at(n int) []byte {
	start := 0
	if n > 0 {
		start = t.ends[n-1]
	}
	return t.data[start:t.ends[n]:t.ends[n]]
}

// compare compares two texts by their bytes.
func (t *texts) compare(a, b int) int { return bytes.Compare(t.at(a), t.at(b)) }

// beginning returns the first bytes of a text as a number: texts with different ones are in the
// same order as these.
func (t *texts) beginning(n int) uint64 {
	text := t.at(n)
	if len(text) >= 8 {
		return binary.BigEndian.Uint64(text)
	}
	var first [8]byte
	copy(first[:], text)
	return binary.BigEndian.Uint64(first[:])
}

// blocks are the memory of many lists of bytes that grow at the same time. Each list is a chain
// of blocks, so that a growing one is never copied. The zero value has none.
type blocks struct {
	slabs [][]byte
	used  int      // of the last slab
	free  [][]byte // slabs to use again
}

// list is a list of bytes in blocks. The zero value is empty.
type list struct {
	// first and last are the numbers of blocks plus one, and size is that of the whole list.
	first, last, size uint32
	free              uint32 // bytes that are free in the last block
}

const (
	slabSize  = 1 << 16
	blockUnit = 8 // a block is numbered by where it begins, in units of this size
	blockHead = 4 // the number of the next block, or of the last one its size
	minBlock  = 16
	maxBlock  = 1 << 12
)

// append appends data to a list.
func (b *blocks) append(l *list, data []byte) {
	for len(data) > 0 {
		if l.free == 0 {
			b.extend(l)
		}
		block := b.block(l.last)
		size := binary.LittleEndian.Uint32(block)
		n := copy(block[size-l.free:size], data)
		data = data[n:]
		l.free -= uint32(n)
		l.size += uint32(n)
	}
}

// blockSize returns the size of the block that follows size bytes of a list: a quarter of these,
// so that little is unused.
func blockSize(size int) int {
	return min(max(minBlock, (size/4+blockUnit-1)/blockUnit*blockUnit), maxBlock)
}

// extend adds a block to a list whose blocks are full.
func (b *blocks) extend(l *list) {
	size := blockSize(int(l.size))
	if len(b.slabs) == 0 || b.used+size > slabSize {
		var slab []byte
		if n := len(b.free) - 1; n >= 0 {
			slab, b.free = b.free[n], b.free[:n]
		} else {
			slab = make([]byte, slabSize)
		}
		b.slabs = append(b.slabs, slab)
		b.used = 0
	}
	number := uint32(((len(b.slabs)-1)*slabSize+b.used)/blockUnit) + 1
	b.used += size
	binary.LittleEndian.PutUint32(b.block(number), uint32(size))
	if l.last == 0 {
		l.first = number
	} else {
		binary.LittleEndian.PutUint32(b.block(l.last), number)
	}
	l.last = number
	l.free = uint32(size) - blockHead
}

// block returns the slab from the beginning of a block.
func (b *blocks) block(number uint32) []byte {
	at := int(number-1) * blockUnit
	return b.slabs[at/slabSize][at%slabSize:]
}

// appendTo appends the bytes of a list to out.
func (b *blocks) appendTo(out []byte, l *list) []byte {
	size := int(l.size)
	for number, done := l.first, 0; done < size; {
		block := b.block(number)
		n := min(size-done, blockSize(done)-blockHead)
		out = append(out, block[blockHead:blockHead+n]...)
		number = binary.LittleEndian.Uint32(block)
		done += n
	}
	return out
}
