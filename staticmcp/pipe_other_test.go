//go:build !unix

package staticmcp_test

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
