package main

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// serveLoopback serves go-fuse's loopback filesystem: args are the backing and
// the mount point. It returns when the filesystem is unmounted, which SIGTERM
// asks for. Timeouts are libfuse's defaults, so that bindfs compares.
func serveLoopback(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s: want BACKING MOUNTPOINT", commandLoopback)
	}
	root, err := fs.NewLoopbackRoot(args[0])
	if err != nil {
		return err
	}
	second := time.Second
	server, err := fs.Mount(args[1], root, &fs.Options{
		AttrTimeout:  &second,
		EntryTimeout: &second,
		MountOptions: fuse.MountOptions{FsName: args[0], Name: "loopback", DirectMount: true},
	})
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM)
	go func() {
		for range stop {
			_ = server.Unmount() // busy: the next signal tries again
		}
	}()
	server.Wait()
	return nil
}
