"""Takes parcels as Python programs do."""
import os, signal, sys
from common import *

kept = []


def read(path):
    with open(os.path.join(ROOT, path), "rb") as f:
        return f.read()


def claim(path):
    say("claim", path)
    try:
        data = read(path)
    except OSError as e:
        say("no" if e.errno in (errno.ENOENT, errno.EBUSY) else "unsure", errno.errorcode.get(e.errno, "error"))
        return None
    names = parse(data)
    say(*(["torn", f"{len(data)} bytes"] if names is None else ["ok", *names]))
    return names


def settle(path, names):
    full = os.path.join(ROOT, path)
    if choose.randrange(6) == 0:
        to = f"q/done/{os.path.basename(path)}.{ID}"
        say("archive", path, to, *names)
        outcome(os.rename, full, os.path.join(ROOT, to))
    else:
        say("settle", path, *names)
        outcome(os.unlink, full)


while alive():
    folder = choose.choice(["q/u", "q/u", "q/u", "q/out", "q/exit", "q/ren", "q/work"])
    try:
        files = [n for n in os.listdir(os.path.join(ROOT, folder)) if n.startswith("u-") and n.endswith(".dat")]
    except OSError:
        pause(0.05)
        continue
    if files:
        name = choose.choice(files)
        path = f"{folder}/{name}"
        if folder == "q/u" and choose.randrange(4) == 0:
            say("take", path, f"q/work/{name}")
            if not outcome(os.rename, os.path.join(ROOT, path), os.path.join(ROOT, "q/work", name)):
                continue
            path = f"q/work/{name}"
        names = claim(path)
        fate = choose.randrange(20)
        if names and fate == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        elif names and fate < 4:
            kept.append((path, names))
        elif names:
            settle(path, names)
    if len(kept) > 2:
        settle(*kept.pop(0))
    pause(0.03)
sys.exit(choose.randrange(2))
