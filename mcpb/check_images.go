package mcpb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// iconBytes is the size from which an icon is too large.
const iconBytes = 1 << 20

// checkIcon checks the icon, which every host shows. Its errors are errors in the
// reference CLI, too.
func (c *checker) checkIcon() {
	const pointer = "/icon"
	icon := c.m.Icon
	if icon == "" {
		return
	}
	if isRemote(icon) {
		c.Add(ruleIconRemote, pointer, "put the file into the bundle",
			"the icon is on the web; Claude Desktop shows only icons in the bundle")
		return
	}
	if strings.Contains(icon, "${"+varDir+"}") {
		c.Add(ruleIcon, pointer, strings.TrimPrefix(strings.ReplaceAll(icon,
			"${"+varDir+"}", ""), "/"),
			"paths of icons begin in the bundle, without ${__dirname}")
		return
	}
	name, why := cleanPath(icon)
	if why != "" {
		c.Add(ruleIcon, pointer, "", "the icon %q cannot be in the bundle: %s", icon, why)
		return
	}
	size, err := c.picture(name)
	switch {
	case c.fsys == nil:
	case err != nil:
		c.Add(ruleIcon, pointer, c.hintIfMissing(name, err), "the icon %s %v", name, err)
	default:
		c.checkIconSize(pointer, name, size)
	}
}

// hintIfMissing returns a hint if err means that the file is missing.
func (c *checker) hintIfMissing(name string, err error) string {
	if errors.Is(err, errNotThere) {
		return c.hintSimilar(name)
	}
	return ""
}

// isRemote reports whether an icon or image is a URL, which the client would fetch.
func isRemote(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// checkIconSize reports an icon that hosts would distort, scale up or load slowly.
func (c *checker) checkIconSize(pointer, name string, p picture) {
	switch {
	case p.width != p.height:
		c.Add(ruleIcons, pointer, "", "%s is %s and not square", name, p)
	case p.bytes > iconBytes:
		c.Add(ruleIcons, pointer, "", "%s has %d bytes, a lot for an icon", name, p.bytes)
	case pointer == "/icon" && p.width < 128:
		c.Add(ruleIcons.As(check.Note), pointer, "",
			"%s is %s; 512x512 looks best", name, p)
	}
}

// checkIcons checks the list of icons: each has its own size and theme, and is as large as
// it declares.
func (c *checker) checkIcons() {
	seen := map[Icon]int{}
	for i, icon := range c.m.Icons {
		pointer := fmt.Sprintf("/icons/%d", i)
		same := Icon{
			Size:  icon.Size,
			Theme: icon.Theme,
		}
		if first, twice := seen[same]; twice {
			c.Add(ruleIcons, pointer, "",
				"it has the same size and theme as item %d", first)
		} else {
			seen[same] = i
		}
		p, name, ok := c.named(ruleIcons, pointer+"/src", icon.Src)
		if !ok {
			continue
		}
		c.checkIconSize(pointer+"/src", name, p)
		if isIconSize(icon.Size) && !p.is(icon.Size) {
			c.Add(ruleIcons, pointer+"/size", strconv.Quote(p.String()),
				"%s is %s, not %s", name, p, icon.Size)
		}
	}
}

// checkScreenshots checks that screenshots exist and are PNG files, of any size.
func (c *checker) checkScreenshots() {
	for i, src := range c.m.Screenshots {
		_, _, _ = c.named(ruleScreenshot, "/screenshots/"+strconv.Itoa(i), src)
	}
}

// named checks an image that a list of the manifest names. Problems are warnings, because
// the reference CLI checks none of these.
func (c *checker) named(rule check.Rule, pointer, src string) (p picture, name string, ok bool) {
	if isRemote(src) || c.fsys == nil {
		return p, "", false
	}
	name, why := cleanPath(src)
	if why != "" {
		c.Add(rule.As(check.Warning), pointer, "",
			"%q cannot be in the bundle: %s", src, why)
		return p, "", false
	}
	p, err := c.picture(name)
	if err != nil {
		c.Add(rule.As(check.Warning), pointer, c.hintIfMissing(name, err), "%s %v", name, err)
		return p, name, false
	}
	return p, name, true
}

// picture is the content of a PNG header.
type picture struct {
	width, height uint32
	bytes         int64
}

func (p picture) String() string {
	return fmt.Sprintf("%dx%d", p.width, p.height)
}

// is reports whether the picture has a size such as 16x16, or 016x16.
func (p picture) is(size string) bool {
	width, height, _ := strings.Cut(size, "x")
	w, err := strconv.ParseUint(width, 10, 32)
	h, err2 := strconv.ParseUint(height, 10, 32)
	return err == nil &&
		err2 == nil &&
		uint32(w) == p.width &&
		uint32(h) == p.height
}

var (
	errNotThere = errors.New("is not in the bundle")
	errNotPNG   = errors.New("is not a PNG")
)

// picture reads the header of a PNG. Its errors are worded to follow the name.
func (c *checker) picture(name string) (picture, error) {
	if c.fsys == nil {
		return picture{}, nil
	}
	info, missing := c.stat(name)
	switch {
	case missing:
		return picture{}, errNotThere
	case !info.Mode().IsRegular():
		return picture{}, errors.New("is not a file")
	}
	head := c.head(name, 26)
	if len(head) < 8 || string(head[:8]) != "\x89PNG\r\n\x1a\n" {
		return picture{}, fmt.Errorf("%w%s", errNotPNG, looksLike(name, head))
	}
	if len(head) < 24 || string(head[12:16]) != "IHDR" {
		return picture{}, nil // the reference checks only eight bytes
	}
	p := picture{binary.BigEndian.Uint32(head[16:]), binary.BigEndian.Uint32(head[20:]), info.Size()}
	return p, nil
}

// looksLike returns the actual format of a file that is not a PNG.
func looksLike(name string, head []byte) string {
	kinds := map[string]string{
		"\xff\xd8\xff": "JPEG",
		"GIF8":         "GIF",
		"RIFF":         "WebP",
		"<svg":         "SVG",
		"<?xml":        "SVG",
	}
	for magic, kind := range kinds {
		if strings.HasPrefix(string(head), magic) {
			return ", but " + kind
		}
	}
	if len(head) == 0 {
		return ": it is empty"
	}
	ext := path.Ext(name)
	if !strings.EqualFold(ext, ".png") && ext != "" {
		return ", although its name suggests that"
	}
	return ""
}

// readHead is io.ReadFull for a file that may be shorter.
func readHead(f fs.File, into []byte) (int, error) {
	n, err := io.ReadFull(f, into)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
