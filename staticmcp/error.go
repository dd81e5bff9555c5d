package staticmcp

import "errors"

// SiteError is why a site as a whole cannot be opened or checked.
type SiteError struct {
	Op   string // what failed, such as "open site"
	File string // the file that Err is about, or "" if Err names its subject
	Err  error
}

// Error implements the error interface.
func (e *SiteError) Error() string { return e.Op + ": " + e.Reason() }

// Unwrap returns the cause.
func (e *SiteError) Unwrap() error { return e.Err }

// Reason returns the text without Op.
func (e *SiteError) Reason() string {
	if e.File == "" {
		return e.Err.Error()
	}
	return e.File + ": " + e.Err.Error()
}

// Detail returns the part of the cause that Reason omits because the clients of a site see
// it, such as an address in the local network, or "".
func (e *SiteError) Detail() string {
	var host *unavailable
	if errors.As(e.Err, &host) && host.cause != nil {
		return host.cause.Error()
	}
	return ""
}

// manifestError returns the error of an operation that failed at the manifest.
func manifestError(op string, err error) *SiteError {
	e := &SiteError{Op: op, File: manifestName, Err: err}
	var host *unavailable
	if errors.As(err, &host) || errors.As(err, new(subjectError)) {
		e.File = ""
	}
	return e
}

// subjectError is an error that names its subject.
type subjectError string

func (e subjectError) Error() string { return string(e) }
