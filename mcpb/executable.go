package mcpb

import (
	"encoding/binary"
	"slices"
	"strings"
)

// native is machine code in a bundle.
type native struct {
	name     string
	platform string   // "darwin", "linux" or "win32"; "" for another system
	cpus     []string // Go's names: amd64, arm64, 386, arm
}

// headBytes is how much of a file [readNative] needs.
const headBytes = 4096

// readNative reads the header of an executable or shared library: ELF, Mach-O for one or
// several CPUs, or PE. ok is false for other files.
func readNative(name string, head []byte) (n native, ok bool) {
	n.name = name
	if len(head) < 20 {
		return n, false
	}
	switch magic := binary.BigEndian.Uint32(head); {
	case magic == 0x7f454c46:
		return readELF(n, head), true
	case magic == 0xfeedface, magic == 0xfeedfacf:
		n.platform, n.cpus = "darwin", []string{machoCPU(binary.BigEndian.Uint32(head[4:]))}
		return n, true
	case magic == 0xcefaedfe, magic == 0xcffaedfe:
		n.platform, n.cpus = "darwin", []string{machoCPU(binary.LittleEndian.Uint32(head[4:]))}
		return n, true
	case magic == 0xcafebabe, magic == 0xcafebabf:
		return readFat(n, head, magic == 0xcafebabf)
	case string(head[:2]) == "MZ":
		return readPE(n, head)
	}
	return n, false
}

// readELF reads the header of an ELF file: the system from its ABI, the CPU from e_machine.
func readELF(n native, head []byte) native {
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	// 0 is System V, which Linux uses; 3 is GNU.
	if abi := head[7]; abi == 0 || abi == 3 {
		n.platform = "linux"
	}
	cpu := map[uint16]string{
		3:   "386",
		8:   "mips",
		20:  "ppc",
		21:  "ppc64",
		22:  "s390x",
		40:  "arm",
		62:  "amd64",
		183: "arm64",
		243: "riscv64",
		258: "loong64",
	}
	n.cpus = []string{orOther(cpu[order.Uint16(head[18:])])}
	return n
}

// machoCPU returns the name of a processor in Mach-O files, as Go spells it.
func machoCPU(kind uint32) string {
	return orOther(map[uint32]string{
		7:          "386",
		0x01000007: "amd64",
		12:         "arm",
		0x0100000c: "arm64",
	}[kind])
}

// readFat reads a Mach-O file for several CPUs. Java class files begin with the same four
// bytes, and have their version where the number of CPUs would be.
func readFat(n native, head []byte, wide bool) (native, bool) {
	count := int(binary.BigEndian.Uint32(head[4:]))
	size := 20
	if wide {
		size = 32
	}
	if count == 0 || count > 20 || len(head) < 8+count*size {
		return n, false
	}
	n.platform = "darwin"
	for i := range count {
		n.cpus = append(n.cpus, machoCPU(binary.BigEndian.Uint32(head[8+i*size:])))
	}
	return n, true
}

// readPE reads a PE file, whose header the DOS stub points to.
func readPE(n native, head []byte) (native, bool) {
	if len(head) < 0x40 {
		return n, false
	}
	at := int64(binary.LittleEndian.Uint32(head[0x3c:]))
	if at+6 > int64(len(head)) || string(head[at:at+4]) != "PE\x00\x00" {
		return n, false
	}
	n.platform = "win32"
	cpu := map[uint16]string{
		0x14c:  "386",
		0x8664: "amd64",
		0x1c0:  "arm",
		0x1c4:  "arm",
		0xaa64: "arm64",
	}
	n.cpus = []string{orOther(cpu[binary.LittleEndian.Uint16(head[at+4:])])}
	return n, true
}

// orOther returns the name of a CPU, or words for one that the tables do not list.
func orOther(cpu string) string {
	if cpu == "" {
		return "another CPU"
	}
	return cpu
}

// String returns the system and CPUs, as in "linux (amd64)".
func (n *native) String() string {
	system := n.platform
	if system == "" {
		system = "another system"
	}
	cpus := slices.Clone(n.cpus)
	slices.Sort(cpus)
	return system + " (" + strings.Join(slices.Compact(cpus), ", ") + ")"
}
