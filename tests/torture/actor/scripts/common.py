"""What the Python actors share: their journal, their time, and parcels."""
import errno, hashlib, os, random, select, time

ROOT, SIDE, LOG, ID = (os.environ[k] for k in ("ROOT", "SIDE", "LOG", "ID"))
choose = random.Random(int(os.environ["SEED"]))
until = time.monotonic() + float(os.environ["LIFE"])
log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
UNSURE = (errno.ENOTCONN, errno.ECONNABORTED, errno.EINTR)


def say(*words):
    os.write(log, (" ".join([str(time.monotonic_ns()), *words]) + "\n").encode())


def alive():
    return time.monotonic() < until


def pause(most):
    select.select([], [], [], choose.random() * most)


def outcome(call, *args):
    """Makes a call and says how it ended; gives what it gave, or None."""
    try:
        result = call(*args)
    except OSError as e:
        # A path on no mount is not there either, so that says nothing.
        say("unsure" if e.errno in UNSURE else "no", errno.errorcode.get(e.errno, "error"))
        return None
    say("ok")
    return result or True


def make(name, size):
    body = hashlib.shake_128(name.encode()).hexdigest(size)[:size].encode()
    return f"parcel {name} {size} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def parse(data):
    """The names in data, or None if it is torn."""
    names = []
    while data or not names:
        head, found, rest = data.partition(b"\n")
        words = head.split()
        if not found or len(words) != 4 or words[0] != b"parcel":
            return None
        size = int(words[2])
        if len(rest) < size or hashlib.sha256(rest[:size]).hexdigest().encode() != words[3]:
            return None
        names.append(words[1].decode())
        data = rest[size:]
    return names
