package mcptest

import (
	"fmt"
	"strings"
)

// lineDiff returns the lines in which got differs from want, with some context.
func lineDiff(want, got string) string {
	const around, widest = 3, 2000
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	first := max(0, start-around)
	fmt.Fprintf(&out, "@@ line %d @@\n", first+1)
	put(&out, ' ', a[first:start])
	old, fresh := a[start:len(a)-end], b[start:len(b)-end]
	if len(old)*len(fresh) > widest*widest {
		put(&out, '-', old)
		put(&out, '+', fresh)
	} else {
		putChanges(&out, old, fresh)
	}
	put(&out, ' ', a[len(a)-end:len(a)-end+min(end, around)])
	return out.String()
}

func put(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteByte(' ')
		out.WriteString(line)
		out.WriteByte('\n')
	}
}

// putChanges writes the changes around the longest common subsequence of lines.
func putChanges(out *strings.Builder, a, b []string) {
	common := make([][]int, len(a)+1) // length of the longest common subsequence of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			put(out, ' ', a[i:i+1])
			i, j = i+1, j+1
		case j == len(b) || (i < len(a) && common[i+1][j] >= common[i][j+1]):
			put(out, '-', a[i:i+1])
			i++
		default:
			put(out, '+', b[j:j+1])
			j++
		}
	}
}
