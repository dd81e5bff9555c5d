package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"
)

// newPush returns the command release push.
func newPush() *cobra.Command {
	var dir, image string
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Push the container image to a registry",
		Long: `Push the image with the tag of its version, and with latest unless that is a
prerelease. The login of docker or podman is used. The reference with the digest is
printed.`,
		Example: `  go -C release run . push --image localhost:5000/slipway`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := openOutput(dir)
			if err != nil {
				return err
			}
			return out.push(cmd.Context(), cmd.OutOrStdout(), image)
		},
	}
	outFlag(cmd, &dir)
	cmd.Flags().StringVar(&image, "image", imageName, "image `name` without a tag")
	return cmd
}

// push uploads the image under its tags and prints its reference to w.
func (o *Output) push(ctx context.Context, w io.Writer, image string) error {
	index, err := o.image()
	if err != nil {
		return err
	}
	repository, err := name.NewRepository(image)
	if err != nil {
		return err
	}
	tags := []string{o.Version}
	if semver.Prerelease(o.Tag) == "" {
		tags = append(tags, "latest")
	}
	for _, tag := range tags {
		err := remote.WriteIndex(repository.Tag(tag), index,
			remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return fmt.Errorf("push %s: %w", repository.Tag(tag), err)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, repository.Digest(digest.String()))
	return err
}

// image returns the image of the output folder.
func (o *Output) image() (v1.ImageIndex, error) {
	top, err := layout.ImageIndexFromPath(o.path(imageFolder))
	if err != nil {
		return nil, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, errors.New("the OCI layout must have one entry")
	}
	return top.ImageIndex(manifest.Manifests[0].Digest)
}
