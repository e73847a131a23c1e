package control

import "net"

// UseListener makes Serve take ln instead of opening the socket, so that time can be a test's own.
func (s *Server) UseListener(ln net.Listener) { s.listener = ln }
