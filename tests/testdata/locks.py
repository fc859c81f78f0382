#!/usr/bin/env python3
"""Plays scripts of lock calls across several processes in a folder, and prints how each call ended.

    locks.py SCRIPTS FOLDER [NAME ...]

A script begins with `== NAME`; each further line is a process (a letter) and what it does. A process begins at its first
line. `#` begins a comment. What the words mean is in the table CALLS. `wait CALL` is a call that is to wait: the script
goes on when it does, and `end` says how it ended.
"""
import array, errno, fcntl, json, os, platform, signal, socket, struct, sys, threading, time

PATIENCE = 20.0
OFD_GETLK, OFD_SETLK, OFD_SETLKW = 36, 37, 38
TYPES = {"r": fcntl.F_RDLCK, "w": fcntl.F_WRLCK, "u": fcntl.F_UNLCK}
WHENCE = {"set": os.SEEK_SET, "cur": os.SEEK_CUR, "end": os.SEEK_END, "none": 9}
LOCKING = {"x86_64": ("72", "73"), "aarch64": ("25", "32")}[platform.machine()]  # fcntl(2), flock(2)
FLOCK = struct.Struct("hh4xqqi4x")


class Interrupted(Exception):
    pass


# --- a process -----------------------------------------------------------------------------------------------------------

files = {}


def interrupted(signum, frame):
    raise Interrupted


def flock_of(kind, start="0", length="0", whence="set"):
    return FLOCK.pack(TYPES[kind], WHENCE[whence], int(start), int(length), 0)


def setlk(name, who, kind, *where, wait=False):
    call = {("posix", False): fcntl.F_SETLK, ("posix", True): fcntl.F_SETLKW, ("ofd", False): OFD_SETLK, ("ofd", True): OFD_SETLKW}
    fcntl.fcntl(files[name], call[who, wait], flock_of(kind, *where))


def getlk(name, who, kind, *where):
    got = fcntl.fcntl(files[name], {"posix": fcntl.F_GETLK, "ofd": OFD_GETLK}[who], flock_of(kind, *where))
    kind, whence, start, length, pid = FLOCK.unpack(got)
    letter = {v: k for k, v in TYPES.items()}[kind]
    return "free" if letter == "u" else "%s %d+%d of pid %d" % (letter, start, length, pid)


def open_file(name, path, flags):
    chosen = {"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR}[flags.rstrip("cta")]
    for letter, flag in {"c": os.O_CREAT, "t": os.O_TRUNC, "a": os.O_APPEND}.items():
        chosen |= flag if letter in flags else 0
    files[name] = os.open(path, chosen, 0o644)


def close_file(name):
    os.close(files.pop(name))


def fork(letter):
    if os.fork() == 0:
        os.close(control.detach())
        mailbox.close()
        process(letter)


def execute(letter):
    for fd in files.values():
        os.set_inheritable(fd, True)
    os.execv(sys.executable, [sys.executable, __file__, "--process", letter] + ["%s=%d" % f for f in files.items()])


def give(name, letter):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendmsg([name.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [files[name]]))], 0, ADDRESS % letter)


def take():
    data, rights, _, _ = mailbox.recvmsg(100, socket.CMSG_SPACE(4))
    files[data.decode()] = array.array("i", rights[0][2])[0]


def many(name, who, kind, count):
    for n in range(int(count)):
        setlk(name, who, kind, str(2 * n), "1")


def handle(restart):
    signal.signal(signal.SIGUSR1, interrupted if restart == "raise" else lambda *_: None)
    signal.siginterrupt(signal.SIGUSR1, restart == "raise")


def in_thread(*words):
    said = []
    t = threading.Thread(target=lambda: said.append(outcome(words)))
    t.start()
    t.join()
    return said[0]


CALLS = {
    "open": open_file,  # NAME PATH FLAGS: r w rw, c O_CREAT, t O_TRUNC, a O_APPEND
    "close": close_file,
    "dup": lambda name, to: files.__setitem__(to, os.dup(files[name])),
    "dup2": lambda name, to: os.dup2(files[name], files[to]) and None,
    "lock": setlk,  # NAME posix|ofd r|w|u [START LENGTH [set|cur|end]]
    "lockw": lambda *w: setlk(*w, wait=True),
    "getlk": getlk,
    "flock": lambda name, how: fcntl.flock(files[name], {"sh": 1, "ex": 2, "shnb": 5, "exnb": 6, "un": 8, "nothing": 0}[how]),
    "seek": lambda name, at: os.lseek(files[name], int(at), os.SEEK_SET) and None,
    "write": lambda name, n: os.write(files[name], b"x" * int(n)) and None,
    "truncate": lambda name, n: os.ftruncate(files[name], int(n)),
    "rename": os.rename, "unlink": os.unlink, "link": os.link,
    "fork": fork,  # LETTER: a child, with all descriptors
    "exec": execute,  # the process becomes another program, with all descriptors; its letter stays
    "give": give, "take": take,  # a descriptor, by SCM_RIGHTS
    "many": many,  # NAME KIND TYPE COUNT: as many one-byte locks, none beside another
    "onsignal": handle,  # raise | restart: what SIGUSR1 does to a call that waits
    "thread": in_thread,  # a call in another thread
}


def outcome(words):
    try:
        said = CALLS[words[0]](*words[1:])
    except Interrupted:
        return "EINTR"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno)).replace("EDEADLOCK", "EDEADLK")
    return "ok" if said is None else str(said)


def process(letter):
    global control, mailbox
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.connect(ADDRESS % "player")
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mailbox.bind(ADDRESS % letter)
    lines = control.makefile("r")
    control.sendall(b"%s %d\n" % (letter.encode(), os.getpid()))
    for line in lines:
        words = line.split()
        if words[0] == "exec":
            mailbox.close()
        control.sendall(outcome(words + [letter] * (words[0] == "exec")).encode() + b"\n")
    os._exit(0)


# --- the player ----------------------------------------------------------------------------------------------------------


def mount():
    """The root of the mount that the working directory is in, if it is one of airlockfs."""
    at = os.getcwd()
    while at != "/":
        if os.path.exists(at + "/.airlockfs/locks"):
            return at
        at = os.path.dirname(at)


def waiting(pid):
    """Whether a process waits for a lock. On the mount it is in its call before the mount knows of it."""
    root = mount()
    if root:
        with open(root + "/.airlockfs/locks") as f:
            return any(lock["blocked"] and lock["pid"] == pid for lock in json.load(f)["locks"])
    with open("/proc/%d/syscall" % pid) as f:
        return f.read().split()[0] in LOCKING


class Player:
    def __init__(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(ADDRESS % "player")
        self.listener.listen(64)
        self.listener.settimeout(PATIENCE)
        self.processes, self.letters = {}, {}

    def meet(self):
        """A process that has just begun, or has executed another program."""
        control, _ = self.listener.accept()
        control.settimeout(PATIENCE)
        lines = control.makefile("r")
        letter, pid = lines.readline().split()
        self.processes[letter], self.letters[pid] = (control, lines, int(pid)), letter

    def begin(self, letter):
        if os.fork() == 0:
            os.setsid()
            self.listener.close()
            for control, _, _ in self.processes.values():
                os.close(control.detach())
            process(letter)
        self.meet()

    def say(self, letter, words):
        self.processes[letter][0].sendall((" ".join(words) + "\n").encode())

    def hear(self, letter):
        said = self.processes[letter][1].readline().strip()
        if " of pid " in said:
            said, pid = said.rsplit(" ", 1)
            said += " " + {"-1": "-1"}.get(pid, self.letters.get(pid, "nobody we know: " + pid))
        return said

    def waits(self, letter):
        """Whether the process comes to wait in a lock call."""
        pid, end = self.processes[letter][2], time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.answered(letter):
                return "does not wait: " + self.hear(letter)
            if waiting(pid):
                return "waits"
        return "never"

    def answered(self, letter):
        control = self.processes[letter][0]
        control.settimeout(0)
        try:
            return bool(control.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False
        finally:
            control.settimeout(PATIENCE)

    def step(self, letter, words):
        if letter not in self.processes:
            self.begin(letter)
        if words[0] == "wait":
            self.say(letter, words[1:])
            return self.waits(letter)
        if words[0] == "end":
            return self.hear(letter)
        if words[0] == "waits":
            return "no" if self.answered(letter) else "yes"
        if words[0] == "kill":
            os.kill(self.processes[letter][2], getattr(signal, "SIG" + words[1]))
            if words[1] == "KILL":
                return "gone" if not self.processes[letter][1].readline() else "alive"
            return "ok"
        self.say(letter, words)
        if words[0] == "exec":
            self.meet()
            return "ok"
        said = self.hear(letter)
        if words[0] == "fork":
            self.meet()
        return said

    def end(self):
        for _, _, pid in self.processes.values():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for control, lines, _ in self.processes.values():
            lines.read()  # until it is gone
            control.close()


def scripts(path):
    name, steps = None, []
    for line in open(path):
        line = line.split("#")[0].strip()
        if line.startswith("== "):
            if name:
                yield name, steps
            name, steps = line[3:], []
        elif line:
            steps.append(line)
    yield name, steps


def play(path, folder, names):
    global ADDRESS
    for n, (name, steps) in enumerate(scripts(path)):
        if names and name not in names:
            continue
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        os.chdir(os.path.join(folder, name))
        ADDRESS = "\0airlockfs-locks-%d-%d-%%s" % (os.getpid(), n)
        os.environ["ADDRESS"] = ADDRESS[1:]
        player = Player()
        for step in steps:
            letter, *words = step.split()
            try:
                said = player.step(letter, words)
            except TimeoutError:
                said = "never"
            print("%s: %s: %s" % (name, step, said), flush=True)
        player.end()


if sys.argv[1] == "--process":
    ADDRESS = "\0" + os.environ["ADDRESS"]
    files = {name: int(fd) for name, fd in (f.split("=") for f in sys.argv[3:])}
    process(sys.argv[2])
else:
    __file__ = os.path.abspath(__file__)
    play(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:])
