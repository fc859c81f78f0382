"""Produces parcels as Python programs do."""
import os, pathlib, shutil, tempfile
from common import *


def replace(path, data):
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    return lambda: os.replace(f.name, path)


def write(path, data):
    return lambda: pathlib.Path(path).write_bytes(data) and None


def copy(path, data):
    src = os.path.join(SIDE, os.path.basename(path))
    pathlib.Path(src).write_bytes(data)

    def publish():
        shutil.move(src, path)

    return publish


def pieces(path, data):
    f = open(path, "xb", buffering=0)
    for at in range(0, len(data), 1000):
        f.write(data[at:at + 1000])
        pause(0.005)
    return f.close


n = 0
while alive():
    n += 1
    name = f"u-{ID}-{n}"
    rel = f"q/u/{name}.dat"
    try:
        publish = choose.choice([replace, replace, write, copy, pieces])(os.path.join(ROOT, rel), make(name, choose.randrange(20000)))
    except OSError:
        pause(0.05)  # no room, or no mount
        continue
    say("publish", rel, name)
    try:
        publish()
        say("ok")
    except OSError:
        say("unsure")  # a copy may have been made before
    pause(0.03)
