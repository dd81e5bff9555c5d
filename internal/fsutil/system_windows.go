package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OpenShared is [os.OpenFile], and does not keep others from renaming or removing the
// file while it is open. On Windows, a new file whose perm excludes others is
// inaccessible to them.
func OpenShared(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := openShared(name, flag, perm)
	if err != nil {
		return nil, &fs.PathError{
			Op:   "open",
			Path: name,
			Err:  err,
		}
	}
	return f, nil
}

// openShared opens a file so that others can rename or remove it while it is open, as on Unix. A
// new private file is created with its access list, not given it later.
func openShared(name string, flag int, perm fs.FileMode) (*os.File, error) {
	// os.Root and os.OpenFile convert long names; this call does not.
	full, err := longName(name)
	if err != nil {
		return nil, err
	}
	path, err := windows.UTF16PtrFromString(full)
	if err != nil {
		return nil, err
	}
	var security *windows.SecurityAttributes
	if flag&os.O_CREATE != 0 && isPrivate(perm) {
		descriptor, err := privateDescriptor()
		if err != nil {
			return nil, err
		}
		security = &windows.SecurityAttributes{SecurityDescriptor: descriptor}
		security.Length = uint32(unsafe.Sizeof(*security))
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(path, accessOf(flag), share, security, dispositionOf(flag),
		windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(handle), name), nil
}

// longName returns the absolute form that is not limited to 260 bytes. Names of devices and
// those that have this form already stay as they are.
func longName(name string) (string, error) {
	full, err := filepath.Abs(name)
	switch {
	case err != nil, len(full) < windows.MAX_PATH-20:
		return full, err
	case strings.HasPrefix(full, `\\?\`), strings.HasPrefix(full, `\\.\`), strings.HasPrefix(full, `\??\`):
		return full, nil
	case strings.HasPrefix(full, `\\`): // on a server
		return `\\?\UNC` + full[1:], nil
	}
	return `\\?\` + full, nil
}

// accessOf returns the access rights for the flags of os.OpenFile.
func accessOf(flag int) uint32 {
	var access uint32
	switch {
	case flag&os.O_RDWR != 0:
		access = windows.GENERIC_READ | windows.GENERIC_WRITE
	case flag&os.O_WRONLY != 0:
		access = windows.GENERIC_WRITE
	default:
		access = windows.GENERIC_READ
	}
	if flag&os.O_APPEND != 0 {
		access &^= windows.GENERIC_WRITE
		access |= windows.FILE_APPEND_DATA | windows.SYNCHRONIZE | windows.FILE_WRITE_ATTRIBUTES
	}
	return access
}

// dispositionOf returns the creation disposition for the flags of os.OpenFile.
func dispositionOf(flag int) uint32 {
	switch {
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return windows.CREATE_NEW
	case flag&os.O_CREATE != 0:
		return windows.OPEN_ALWAYS
	}
	return windows.OPEN_EXISTING
}

// isPrivate reports whether a mode excludes all users but one.
func isPrivate(perm fs.FileMode) bool { return perm&0o077 == 0 }

// privateDescriptor allows this user, administrators and the system, as in the user's
// profile, and inherits nothing: outside of the profile a folder can be open to all users.
func privateDescriptor() (*windows.SECURITY_DESCRIPTOR, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	return windows.SecurityDescriptorFromString("D:P(A;;FA;;;" + user.User.Sid.String() + ")(A;;FA;;;SY)(A;;FA;;;BA)")
}

// keepAccess gives the replacement of an existing file its access list, unless perm asks
// for a private one. A rename would keep that of the replacement.
func keepAccess(existing, replacement string, perm fs.FileMode) error {
	if isPrivate(perm) {
		return nil
	}
	descriptor, err := windows.GetNamedSecurityInfo(existing,
		windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	list, _, err := descriptor.DACL()
	if err != nil {
		return err
	}
	what := windows.SECURITY_INFORMATION(windows.DACL_SECURITY_INFORMATION)
	if control, _, err := descriptor.Control(); err == nil && control&windows.SE_DACL_PROTECTED != 0 {
		what |= windows.PROTECTED_DACL_SECURITY_INFORMATION
	}
	return windows.SetNamedSecurityInfo(replacement, windows.SE_FILE_OBJECT, what,
		nil, nil, list, nil)
}

// renameTime is how long a rename is retried. Virus scanners, indexers and readers that
// poll a file hold it for moments.
const renameTime = 2 * time.Second

// rename is [os.Rename], and waits for programs that have the files open.
func rename(from, to string) error {
	pause := time.Millisecond
	for until := time.Now().Add(renameTime); ; pause *= 2 {
		err := os.Rename(from, to)
		busy := errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
			errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !busy || time.Now().Add(pause).After(until) {
			return err
		}
		info, statErr := os.Stat(to)
		if statErr == nil && info.IsDir() {
			return err // denied for ever
		}
		time.Sleep(pause)
	}
}

// ReadableBy returns whom the access list of a file or folder allows to read it besides
// this user and administrators, or "". Only the groups of all users are known.
func ReadableBy(name string) (who string, err error) {
	descriptor, err := windows.GetNamedSecurityInfo(name, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return "", err
	}
	list, _, err := descriptor.DACL()
	if err != nil {
		return "", err
	}
	if list == nil {
		return "Everyone", nil // no list allows everything
	}
	for i := range uint32(list.AceCount) {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &entry); err != nil {
			return "", err
		}
		const inheritOnly = windows.INHERIT_ONLY_ACE
		if entry.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE ||
			entry.Header.AceFlags&inheritOnly != 0 ||
			entry.Mask&(windows.FILE_READ_DATA|windows.GENERIC_READ|windows.GENERIC_ALL) == 0 {
			continue
		}
		group := groupOfAll((*windows.SID)(unsafe.Pointer(&entry.SidStart)))
		if group != "" {
			return group, nil
		}
	}
	return "", nil
}

// groupOfAll returns the name of a group that every user of the machine belongs to.
func groupOfAll(sid *windows.SID) string {
	for name, kind := range map[string]windows.WELL_KNOWN_SID_TYPE{
		"Everyone":            windows.WinWorldSid,
		"Authenticated Users": windows.WinAuthenticatedUserSid,
		"Users":               windows.WinBuiltinUsersSid,
		"Guests":              windows.WinBuiltinGuestsSid,
		"Anonymous Logon":     windows.WinAnonymousSid,
		"Interactive":         windows.WinInteractiveSid,
		"Network":             windows.WinNetworkSid,
	} {
		if sid.IsWellKnown(kind) {
			return name
		}
	}
	return ""
}
