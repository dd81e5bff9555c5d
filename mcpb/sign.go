package mcpb

import (
	"context"
	"crypto"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb/internal/cms"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// SignOptions are the options of [Sign]. Nil and the zero value mean the defaults.
type SignOptions struct {
	// Time is the signing time in the signature, at which the certificate must be valid.
	// The default is now.
	Time time.Time
	// Limits are those of [OpenArchive].
	Limits *Limits
	// Progress is called while the bundle is hashed, with the bytes so far and of all, and at
	// the end with the hashed bytes twice.
	Progress func(done, all int64)
}

// SignReport is the result of [Sign].
type SignReport struct {
	// Archive is the file that was signed.
	Archive string `json:"archive"`
	// Signer is the signing certificate.
	Signer Certificate `json:"signer"`
	// SelfSigned reports whether the certificate is self-signed.
	SelfSigned bool `json:"selfSigned"`
	// Replaced reports whether a previous signature was replaced.
	Replaced bool `json:"replaced"`
	// Bytes is the size of the file with its signature.
	Bytes int64 `json:"bytes"`
}

// errLongSignature means that the signature does not fit.
var errLongSignature = errors.New(
	"the certificates are too long: a signature and the comment of the archive have room for 65,535 bytes together")

// Sign signs the bundle at name, and replaces an existing signature. The file changes
// completely or not at all.
//
// The signature is a detached PKCS#7 (RFC 5652) after the zip. The zip declares it as its
// comment, so that strict zip readers accept the bundle. It covers every byte before it.
// An archive that [OpenArchive] refuses is not signed.
func Sign(
	ctx context.Context,
	name string,
	id *Identity,
	opts *SignOptions,
) (*SignReport, error) {
	o := valueOf(opts)
	if o.Time.IsZero() {
		o.Time = time.Now()
	}
	if err := id.checkUsable(o.Time); err != nil {
		return nil, err
	}
	report := &SignReport{
		Archive:    name,
		Signer:     id.Certificate(),
		SelfSigned: cms.IsSelfSigned(id.chain[0]),
	}
	err := changeSignature(ctx, name, o.Limits, func(a *Archive, signed bool) (block []byte, err error) {
		block, err = signArchive(ctx, a, id, &o)
		report.Replaced = signed
		report.Bytes = a.PackedSize() + int64(len(block))
		return block, err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// errUnsigned means that there is no signature to remove.
var errUnsigned = errors.New("the bundle is not signed")

// Unsign removes the signature from the bundle at name and reports whether there was one.
// The result is the archive as it was before signing. The file changes completely or not
// at all.
func Unsign(ctx context.Context, name string, limits *Limits) (bool, error) {
	err := changeSignature(ctx, name, limits, func(_ *Archive, signed bool) ([]byte, error) {
		if !signed {
			return nil, errUnsigned
		}
		return nil, nil
	})
	if errors.Is(err, errUnsigned) {
		return false, nil
	}
	return err == nil, err
}

// changeSignature replaces the signature block of a bundle with the one that change
// returns for the archive without signatures. signed reports whether there were any.
func changeSignature(ctx context.Context, name string, limits *Limits,
	change func(a *Archive, signed bool) (block []byte, err error)) error {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	a, signed, err := zip.NewUnsigned(f, info.Size(), limits)
	if err != nil {
		return err
	}
	block, err := change(a, signed)
	if err != nil {
		return err
	}
	content := a.Content(a.CommentLen() + len(block))
	return fsutil.Replace(name, info.Mode().Perm(), func(w io.Writer) error {
		if _, err := io.Copy(w, cancelable{ctx, content}); err != nil {
			return err
		}
		_, err := w.Write(block)
		return err
	})
}

// signArchive returns a block with a signature of the archive. The digest covers the
// length of the block, so that length is first determined with a sample. Elliptic curve
// signatures vary in length, so signing is repeated until one fits. A sample may have a
// very rare length, so several samples are used.
func signArchive(
	ctx context.Context,
	a *Archive,
	id *Identity,
	o *SignOptions,
) ([]byte, error) {
	hash, err := cms.HashOf(id.key.Public())
	if err != nil {
		return nil, err
	}
	const samples, tries = 16, 64
	for range samples {
		sample, err := cms.Sign(id.key, id.chain, make([]byte, hash.Size()), o.Time)
		if err != nil {
			return nil, err
		}
		comment := a.CommentLen() + len(sample) + zip.BlockFrame
		if comment > zip.MaxComment {
			return nil, errLongSignature
		}
		digest, err := hashContent(ctx, hash,
			fsutil.ProgressReader(a.Content(comment), a.PackedSize(), o.Progress))
		if err != nil {
			return nil, err
		}
		for range tries {
			der, err := cms.Sign(id.key, id.chain, digest, o.Time)
			if err != nil {
				return nil, err
			}
			block := zip.EncodeBlock(der)
			if len(der) == len(sample) && block != nil {
				return block, nil
			}
		}
	}
	return nil, errors.New("no two signatures of the key have the same length")
}

// hashContent returns the digest of all content, or an error if ctx is done first.
func hashContent(ctx context.Context, hash crypto.Hash, content io.Reader) ([]byte, error) {
	h := hash.New()
	_, err := io.Copy(h, cancelable{ctx, content})
	return h.Sum(nil), err
}

// cancelable is a reader that fails when its context is done.
type cancelable struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// valueOf returns the options that a pointer refers to, or the defaults for nil.
func valueOf[T any](opts *T) T {
	if opts == nil {
		opts = new(T)
	}
	return *opts
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
