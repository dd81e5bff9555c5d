package hophttp

import "time"

// SetNotice sets how long a request is served before its connection is watched.
func (s *Server) SetNotice(d time.Duration) { s.notice = d }
