package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	imageFolder  = "image"             // the image as an OCI layout
	imageArchive = "slipway-image.tar" // the same layout in one file
	imageUser    = "65532:65532"       // as in distroless images
)

// writeImage writes a container image for all platforms with Linux as an OCI layout. It
// behaves like the first image of examples/deploy/Containerfile: certificates, a writable
// /tmp as home, and the program.
func writeImage(out *Output, shared []File) error {
	base, err := imageLayer(baseFiles(shared), out.Date)
	if err != nil {
		return err
	}
	labels := imageLabels(out.Stamp)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, p := range out.platforms() {
		if p.OS != "linux" {
			continue
		}
		found = true
		program, err := os.ReadFile(out.path(out.binary(p)))
		if err != nil {
			return err
		}
		layer, err := imageLayer([]File{{"usr/local/bin/" + projectName, 0o755, program}}, out.Date)
		if err != nil {
			return err
		}
		image, err := newImage(out.Stamp, p, labels, base, layer)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image,
			Descriptor: v1.Descriptor{
				Platform: &v1.Platform{
					OS:           p.OS,
					Architecture: p.Arch,
				},
			},
		})
	}
	if !found {
		return nil
	}
	index = mutate.Annotations(index, labels).(v1.ImageIndex) // the type of its argument
	if err := writeLayout(out.path(imageFolder), index, out.Version); err != nil {
		return err
	}
	return packLayout(out)
}

// imageLabels returns the labels of the image, which are annotations of its index too.
func imageLabels(s *Stamp) map[string]string {
	return map[string]string{
		"org.opencontainers.image.created":       s.Date.Format(time.RFC3339),
		"org.opencontainers.image.description":   projectDetails,
		"org.opencontainers.image.documentation": siteURL,
		"org.opencontainers.image.licenses":      projectLicense,
		"org.opencontainers.image.revision":      s.Commit,
		"org.opencontainers.image.source":        repositoryURL,
		"org.opencontainers.image.title":         projectTitle,
		"org.opencontainers.image.url":           siteURL,
		"org.opencontainers.image.version":       s.Version,
	}
}

// newImage returns the image of one platform. All its times are that of the commit, so the digest
// is reproducible. It runs as a user other than root, and logs JSON.
func newImage(
	s *Stamp,
	p Platform,
	labels map[string]string,
	layers ...v1.Layer,
) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, layer := range layers {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer,
			History: v1.History{
				Created:   v1.Time{Time: s.Date},
				CreatedBy: repositoryURL,
			},
		})
		if err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS = p.OS
	file.Architecture = p.Arch
	file.Created = v1.Time{Time: s.Date}
	file.Author = projectMaintainer
	file.Config = v1.Config{
		User:       imageUser,
		WorkingDir: "/tmp",
		Entrypoint: []string{"/usr/local/bin/" + projectName},
		Cmd:        []string{"serve", "--config", "/etc/slipway/slipway.yaml"},
		Env: []string{
			"PATH=/usr/local/bin",
			"HOME=/tmp",
			"MCP_SERVER_ADDR=0.0.0.0:8080",
			"MCP_SERVER_LOG_LEVEL=info",
			"MCP_SERVER_LOG_FORMAT=json",
		},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels:       labels,
	}
	return mutate.ConfigFile(image, file)
}

// baseFiles returns the files of the image that are the same on all platforms.
func baseFiles(shared []File) []File {
	list := []File{
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"etc/slipway/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, rootCertificates()},
		{"tmp/", 0o777 | fs.ModeSticky, nil},
	}
	for _, f := range shared {
		if f.Name == "LICENSE" || f.Name == thirdPartyFile {
			f.Name = "usr/share/doc/slipway/" + f.Name
			list = append(list, f)
		}
	}
	return list
}

// rootCertificates returns Mozilla's root certificates as of the required version of the
// module. It omits roots that are trusted with constraints only, such as those about to
// be removed: a file cannot express these.
func rootCertificates() []byte {
	out := &bytes.Buffer{}
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			block := pem.Block{
				Type:  "CERTIFICATE",
				Bytes: root.Certificate,
			}
			_ = pem.Encode(out, &block) // to memory
		}
	}
	return out.Bytes()
}

// imageLayer returns a compressed layer with these files.
func imageLayer(list []File, date time.Time) (v1.Layer, error) {
	packed := &bytes.Buffer{}
	if err := writeTar(tar.NewWriter(packed), list, date); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}

// writeLayout writes an OCI layout with one entry, the index of all platforms.
func writeLayout(dir string, index v1.ImageIndex, version string) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version,
	}))
}

// packLayout packs the layout into one file.
func packLayout(out *Output) error {
	root := out.path(imageFolder)
	var list []File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		list = append(list, File{filepath.ToSlash(rel), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	packed := &bytes.Buffer{}
	if err := writeTar(tar.NewWriter(packed), list, out.Date); err != nil {
		return err
	}
	if err := os.WriteFile(out.path(imageArchive), packed.Bytes(), 0o644); err != nil {
		return err
	}
	return out.add(imageArchive, kindImage, Platform{})
}
