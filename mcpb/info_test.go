package mcpb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcpb"
)

func TestReadInfo(t *testing.T) {
	name := dirty(t, map[string]string{"big": "123456789", "small": "1"})
	opts := &mcpb.InfoOptions{Largest: 2}
	i, err := mcpb.ReadInfo(t.Context(), name, opts)
	if err != nil {
		t.Fatal(err)
	}
	if i.Files != 4 ||
		len(i.Largest) != 2 ||
		i.Largest[0].Name != "manifest.json" ||
		i.Largest[1] != (mcpb.FileInfo{Name: "big", Bytes: 9}) {
		t.Errorf("%d files, the largest %v", i.Files, i.Largest)
	}
	if i.Signature.Status != mcpb.StatusUnsigned || i.PackedBytes == 0 || i.Bytes != i.Largest[0].Bytes+9+1+2 {
		t.Errorf("%+v", i)
	}
	if diff := cmp.Diff(i.Platforms, []string{"darwin", "linux", "win32"}); diff != "" {
		t.Error(diff)
	}
	packed := i.PackedBytes
	id, _, err := mcpb.SelfSignedIdentity(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcpb.Sign(t.Context(), name, id, nil); err != nil {
		t.Fatal(err)
	}
	i, err = mcpb.ReadInfo(t.Context(), name, opts)
	if err != nil || i.Signature.Status != mcpb.StatusSelfSigned || i.Signature.Signer == nil || i.PackedBytes != packed {
		t.Errorf("signed: %+v, %v", i, err)
	}
}

func TestReadInfoRefuses(t *testing.T) {
	name := dirty(t, nil, `"1.0.0"`, "1")
	var manifest *mcpb.ManifestError
	if _, err := mcpb.ReadInfo(t.Context(), name, nil); !errors.As(err, &manifest) {
		t.Errorf("got %v, want an error of the manifest", err)
	}
	var archive *mcpb.ArchiveError
	if _, err := mcpb.ReadInfo(t.Context(), name,
		&mcpb.InfoOptions{Limits: &mcpb.Limits{Entries: 1}}); !errors.As(err, &archive) {
		t.Errorf("got %v, want an error of the archive", err)
	}
}
