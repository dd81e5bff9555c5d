package mcpb

import (
	"bytes"
	"context"
	"crypto"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// SignOptions are the options of [Sign]. Nil and the zero value mean the defaults.
type SignOptions struct {
	// Time is the signing time in the signature, at which the certificate must be valid.
	// The default is now.
	Time time.Time
	// Limits are those of [OpenArchive].
	Limits *Limits
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
func Sign(ctx context.Context, name string, id *Identity, opts *SignOptions) (*SignReport, error) {
	if opts == nil {
		opts = &SignOptions{}
	}
	at := opts.Time
	if at.IsZero() {
		at = time.Now()
	}
	if err := id.usable(at); err != nil {
		return nil, err
	}
	f, err := openPacked(name, opts.Limits)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	comment, block, err := f.sign(ctx, id, at)
	if err != nil {
		return nil, err
	}
	if err := f.replace(ctx, comment, block); err != nil {
		return nil, err
	}
	return &SignReport{
		Archive: name, Signer: certificateOf(id.chain[0]), SelfSigned: isSelfSigned(id.chain[0]),
		Replaced: f.signed, Bytes: f.archive.zipSize + int64(len(block)),
	}, nil
}

// Unsign removes the signature from the bundle at name and reports whether there was one.
// The result is the archive as it was before signing. The file changes completely or not
// at all.
func Unsign(ctx context.Context, name string, limits *Limits) (bool, error) {
	f, err := openPacked(name, limits)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if !f.signed {
		return false, nil
	}
	return true, f.replace(ctx, f.comment(), nil)
}

// packedFile is a bundle whose signature is being changed.
type packedFile struct {
	*os.File
	name    string
	mode    os.FileMode
	archive *Archive
	signed  bool
}

// openPacked opens a bundle without any of its signatures: some programs append one after
// the other.
func openPacked(name string, limits *Limits) (*packedFile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	f := &packedFile{File: file, name: name}
	if err := f.open(limits); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

func (f *packedFile) open(limits *Limits) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	f.mode = info.Mode().Perm()
	size := info.Size()
	const most = 8 // signatures
	var first error
	for range most {
		if f.archive, err = NewArchive(f.File, size, limits); err == nil {
			f.signed = f.signed || f.archive.zipSize < size
			return nil
		}
		if first == nil {
			first = err
		}
		var cut *cutError
		if errors.As(err, &cut) {
			f.signed = true
			f.archive, err = newCutArchive(f.File, cut, limits)
			return err
		}
		block, err := findBlock(f.File, size)
		if err != nil || !block.found {
			break
		}
		size, f.signed = block.begin, true
	}
	return first
}

// newCutArchive opens the rest of an archive whose signature was cut off, as if it had
// never been signed.
func newCutArchive(r io.ReaderAt, cut *cutError, limits *Limits) (*Archive, error) {
	return NewArchive(&cutReader{r, cut}, cut.zipSize, limits)
}

// cutReader is a file whose declared comment length is corrected to the actual one.
type cutReader struct {
	io.ReaderAt
	cut *cutError
}

// ReadAt implements io.ReaderAt.
func (r *cutReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	field := binary.LittleEndian.AppendUint16(nil, uint16(r.cut.comment))
	for i, b := range field {
		if at := r.cut.end - int64(len(field)) + int64(i) - off; 0 <= at && at < int64(n) {
			p[at] = b
		}
	}
	return n, err
}

// comment returns the length of the zip comment without a signature.
func (f *packedFile) comment() int { return int(f.archive.zipSize - f.archive.end - endLen) }

// content returns the bytes of the zip, with a declared comment of n bytes.
func (f *packedFile) content(n int) io.Reader { return zipContent(f.File, f.archive, n) }

func zipContent(r io.ReaderAt, a *Archive, comment int) io.Reader {
	field := binary.LittleEndian.AppendUint16(nil, uint16(comment))
	at := a.end + endLen - 2
	return io.MultiReader(io.NewSectionReader(r, 0, at),
		bytes.NewReader(field), io.NewSectionReader(r, at+2, a.zipSize-at-2))
}

// sign returns the length of the comment and the block. The digest covers the length of
// the block, so that length is first determined with a sample. Elliptic curve signatures
// vary in length, so signing is repeated until one fits. A sample may have a very rare
// length, so several samples are used.
func (f *packedFile) sign(ctx context.Context, id *Identity, at time.Time) (comment int, block []byte, err error) {
	hash, _, _, err := signingOf(id.key.Public())
	if err != nil {
		return 0, nil, err
	}
	const samples = 16
	for range samples {
		sample, err := makeSignature(id.key, id.chain, make([]byte, hash.Size()), at)
		if err != nil {
			return 0, nil, err
		}
		if block, err := f.signWithin(ctx, id, hash, at, len(sample)); err != nil || block != nil {
			return f.comment() + len(sample) + blockFrame, block, err
		}
	}
	return 0, nil, errors.New("no two signatures of the key have the same length")
}

// signWithin returns the block with a signature of the given length, or nil if the key
// generates none of that length in many tries.
func (f *packedFile) signWithin(
	ctx context.Context,
	id *Identity,
	hash crypto.Hash,
	at time.Time,
	length int,
) ([]byte, error) {
	comment := f.comment() + length + blockFrame
	if comment > maxComment {
		return nil, errLongSignature
	}
	digest, err := hashContent(ctx, hash, f.content(comment))
	if err != nil {
		return nil, err
	}
	const tries = 64
	for range tries {
		der, err := makeSignature(id.key, id.chain, digest, at)
		if err != nil {
			return nil, err
		}
		if len(der) == length && !bytes.Contains(der, []byte(endSignature)) && !bytes.Contains(der, []byte(blockHeader)) {
			return encodeBlock(der), nil
		}
	}
	return nil, nil
}

func hashContent(ctx context.Context, hash crypto.Hash, content io.Reader) ([]byte, error) {
	h := hash.New()
	if _, err := io.Copy(h, cancelable{ctx, content}); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// replace writes the zip with a declared comment of that length, followed by the block.
func (f *packedFile) replace(ctx context.Context, comment int, block []byte) error {
	return fsutil.Replace(f.name, f.mode, func(w io.Writer) error {
		if _, err := io.Copy(w, cancelable{ctx, f.content(comment)}); err != nil {
			return err
		}
		_, err := w.Write(block)
		return err
	})
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
