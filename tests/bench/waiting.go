package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// untilWaiting waits until so many threads of this process are in flock(2). Looking makes way for them.
func untilWaiting(n int) error {
	want := strconv.Itoa(unix.SYS_FLOCK) + " "
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		waiting := 0
		for _, task := range tasks {
			call, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%s/syscall", task.Name()))
			if err == nil && strings.HasPrefix(string(call), want) {
				waiting++
			}
		}
		if waiting >= n {
			return nil
		}
	}
}
