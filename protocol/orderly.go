package protocol

import "strings"

// orderly are servers that close a file the same way whether their client is done or has vanished, so half an upload
// looks like a whole one.
var orderly = taskNames("smbd", "vsftpd", "proftpd", "pure-ftpd", "in.ftpd", "in.tftpd", "sftpgo", "afpd", "nfsd", "ganesha.nfsd")

// OrderlyServer gives the name of a server that closes a file in order when its client vanishes. Some such programs add
// to their task's name whom they serve.
func OrderlyServer(program string) (name string, ok bool) {
	name, _, _ = strings.Cut(program, "[")
	return name, orderly[name]
}

// ServesSessions tells whether a program acts for a remote user: its claims linger as long as a session may idle, and how
// it ends says nothing about the work on what it claimed.
func ServesSessions(program string) bool {
	_, ok := OrderlyServer(program)
	return ok || BuiltinRole(program) == RoleServer
}

// serversOwn tells whether a server hid an upload under the first name until it took it for complete, and then gave it
// the second, which its client had said: ProFTPD (HiddenStores), Pure-FTPd, SFTPGo. Nobody but the server says so.
func serversOwn(from, to NameKey) bool {
	switch {
	case from.Folder != to.Folder:
		return false
	case strings.HasPrefix(from.Name, ".sftpgo-upload."):
		return strings.HasSuffix(from.Name, "."+to.Name)
	}
	return from.Name == ".in."+to.Name+"." || strings.HasPrefix(from.Name, ".pureftpd-upload.")
}

// OnItsWord tells whether an item that was just closed or renamed by a server passes for complete for no other reason
// than that: nothing that its sender could say is waited for.
func OnItsWord(was, now *Item) bool {
	if was.State != Staged || was.Empty || was.InClaim || was.Temp() && !serversOwn(was.Name, now.Name) {
		return false
	}
	return now.State == Public && !now.Match.Class.InPlace() || now.State == Held && now.Barrier != BarrierRename
}
