package main

import (
	"log/slog"
	"net"
	"os"
	"strings"
)

// supervisorVariable names the socket of who wants to know the state of this process (sd_notify(3)): systemd sets it for
// units of Type=notify.
const supervisorVariable = "NOTIFY_SOCKET"

// supervisor is told what this process does. The zero value: there is none.
type supervisor struct {
	socket string
	log    *slog.Logger
}

// inheritedSupervisor takes the socket out of the environment: it is not for programs that this one starts.
func inheritedSupervisor(log *slog.Logger) supervisor {
	s := supervisor{os.Getenv(supervisorVariable), log}
	_ = os.Unsetenv(supervisorVariable)
	return s
}

// tell sends assignments such as READY=1. A name that begins with @ is abstract (unix(7)), which package net knows too.
func (s supervisor) tell(assignments ...string) {
	if s.socket == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err == nil {
		defer c.Close()
		_, err = c.Write([]byte(strings.Join(assignments, "\n")))
	}
	if err != nil {
		s.log.Warn("who supervises this process can't be told", "error", err)
	}
}
