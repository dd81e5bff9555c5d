package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// File is a file of a package.
type File struct {
	Name string // relative to the top folder, with slashes
	Mode fs.FileMode
	Data []byte
}

// writeArchives packs each program with the shared files, in a folder named after the
// archive: .zip for windows, .tar.gz elsewhere.
func writeArchives(out *Output, shared []File) error {
	for _, p := range out.platforms() {
		data, err := os.ReadFile(out.path(out.binary(p)))
		if err != nil {
			return err
		}
		top := archiveFolder(p)
		files := []File{{top + "/" + p.Binary(), 0o755, data}}
		for _, f := range shared {
			f.Name = top + "/" + f.Name
			files = append(files, f)
		}
		pack := tarGzip
		if p.OS == "windows" {
			pack = zipped
		}
		packed, err := pack(files, out.Date)
		if err != nil {
			return err
		}
		if err := os.WriteFile(out.path(archiveName(p)), packed, 0o644); err != nil {
			return err
		}
		if err := out.add(archiveName(p), kindArchive, p); err != nil {
			return err
		}
	}
	return nil
}

// archiveFolder returns the top folder inside the archive of a platform.
func archiveFolder(p Platform) string { return projectName + "-" + p.String() }

// archiveName returns the name of the archive of a platform. It has no version, so that
// the address of the latest release's archive is known.
func archiveName(p Platform) string {
	if p.OS == "windows" {
		return archiveFolder(p) + ".zip"
	}
	return archiveFolder(p) + ".tar.gz"
}

// tarGzip returns a compressed tar archive. Entries are sorted, owned by root, and modified
// at date; the header of gzip has neither name nor time. With the package of the standard
// library, a program would be 70 KB larger.
func tarGzip(files []File, date time.Time) ([]byte, error) {
	out := &bytes.Buffer{}
	gz, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(tar.NewWriter(gz), files, date); err != nil {
		return nil, err
	}
	err = gz.Close()
	return out.Bytes(), err
}

// writeTar writes the files and their folders, and closes the archive. A name that ends in
// a slash is an empty folder.
func writeTar(w *tar.Writer, files []File, date time.Time) error {
	for _, f := range withFolders(files) {
		h := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     f.Name,
			Mode:     int64(f.Mode.Perm()),
			Size:     int64(len(f.Data)),
			ModTime:  date,
			Format:   tar.FormatPAX,
		}
		if f.Mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if strings.HasSuffix(f.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.Data); err != nil {
			return err
		}
	}
	return w.Close()
}

// withFolders returns the files sorted by name, each after its folders.
func withFolders(files []File) []File {
	var all []File
	seen := make(map[string]bool)
	for _, f := range files {
		seen[f.Name] = true
	}
	for _, f := range files {
		for at := range len(f.Name) - 1 {
			folder := f.Name[:at+1]
			if f.Name[at] == '/' && !seen[folder] {
				seen[folder] = true
				all = append(all, File{folder, 0o755, nil})
			}
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// zipped returns a zip archive with sorted entries that were modified at date.
func zipped(files []File, date time.Time) ([]byte, error) {
	out := &bytes.Buffer{}
	w := zip.NewWriter(out)
	for _, f := range withFolders(files) {
		if err := zipFile(w, f, date); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// zipFile adds an entry to a zip archive. A name that ends in a slash is a folder.
func zipFile(w *zip.Writer, f File, date time.Time) error {
	h := &zip.FileHeader{
		Name:     f.Name,
		Method:   zip.Deflate,
		Modified: date,
	}
	h.SetMode(f.Mode)
	if strings.HasSuffix(f.Name, "/") {
		h.SetMode(f.Mode | fs.ModeDir)
		h.Method = zip.Store
	}
	entry, err := w.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = entry.Write(f.Data)
	return err
}
