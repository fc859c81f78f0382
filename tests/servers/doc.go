// Package servers drives real file servers (OpenSSH, vsftpd, ProFTPD, Samba) with their own clients on a mount of the
// built binary. docs/servers.md says in one table what they are expected to do; each row names its test here.
package servers
