"""Which file system holds a path, and what a database can expect of it."""

import os
import re
from typing import Literal, NamedTuple

LockSafety = Literal["local", "network", "unsafe"]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


NETWORK = _words(
    "acfs ceph cifs coda gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 panfs smb2 smb3 smbfs",
    "wekafs fuse.ceph fuse.ceph-fuse fuse.glusterfs fuse.juicefs fuse.lizardfs fuse.mfs",
    "fuse.moosefs fuse.quobyte",
)
"""Locks hold between machines, shared memory does not: no write-ahead log."""

UNSAFE = _words(
    # Byte ranges are locked within one machine only, but for settings that no mount table shows.
    "afs beegfs fhgfs orangefs pvfs2 fuse.pvfs2fuse",
    # A virtual machine's view of its host's files.
    "9p fakeowner prl_fs vboxsf virtiofs vmhgfs fuse.grpcfuse fuse.osxfs fuse.vmhgfs-fuse",
    # Object stores and remote shells.
    "curlftpfs davfs fuse.alluxio-fuse fuse.blobfuse fuse.blobfuse2 fuse.curlftpfs fuse.davfs",
    "fuse.davfs2 fuse.fuse_dfs fuse.gcsfuse fuse.geesefs fuse.goofys fuse.mount-s3",
    "fuse.mountpoint-s3 fuse.rclone fuse.s3fs fuse.s3ql fuse.sshfs",
)
"""Locks are not kept between machines: two of them would spoil a database."""

LOCAL_FUSE = _words(
    "fuse.bindfs fuse.cryfs fuse.encfs fuse.exfat fuse.fuse-overlayfs fuse.gocryptfs fuse.lxcfs",
    "fuse.mergerfs fuse.ntfs fuse.ntfs-3g fuse.overlayfs fuse.shfs fuse.unionfs fuse.zfs",
)
"""Those in user space that add something to a disk of this machine."""

LOCKS_STAY_HERE = _words("localflock local_lock=all local_lock=posix nobrl nolock")
"""Mount options that keep a network's locks from the server."""


class Mount(NamedTuple):
    """A line of the table of mounts."""

    point: str
    type: str
    options: frozenset[str]


NOWHERE = Mount("", "", frozenset())


def filesystem(path: str | os.PathLike[str]) -> str:
    """The type of the file system that holds a path, such as "ext4"; empty if it is unknown.

    The path need not exist: then it is the one in which it would be made.
    """
    return _mount(path).type


def kind(path: str | os.PathLike[str]) -> LockSafety:
    """What a database at a path can expect: see `NETWORK` and `UNSAFE`.

    An unknown file system in user space counts as a network: slower, and right for the others.
    """
    return kind_of(_mount(path))


def kind_of(mount: Mount) -> LockSafety:
    """What a database can expect of a mount."""
    in_user_space = mount.type == "fuse" or mount.type.startswith("fuse.")
    if mount.type in UNSAFE:
        return "unsafe"
    if mount.type in NETWORK or (in_user_space and mount.type not in LOCAL_FUSE):
        return "unsafe" if mount.options & LOCKS_STAY_HERE else "network"
    return "local"


def holder(table: str, path: str) -> Mount:
    """The mount that holds a real path, by the text of a `mountinfo` file: the longest, then last.

    >>> table = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\\n30 21 0:4 / /home rw - nfs4 x:/ rw"
    >>> holder(table, "/home/ada/study.db")
    Mount(point='/home', type='nfs4', options=frozenset({'rw'}))
    """
    best = NOWHERE
    for mount in map(_parsed, table.split("\n")):
        if _holds(mount.point, path) and len(mount.point) >= len(best.point):
            best = mount
    return best


def _mount(path: str | os.PathLike[str]) -> Mount:
    real = os.path.realpath(path)  # first, as looking at a path can mount it
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            table = os.fsdecode(file.read())
    except OSError:
        return NOWHERE
    return holder(table, real)


def _parsed(line: str) -> Mount:
    """A line's mount: id, parent, device, root, point, options, tags - type, source, more."""
    before, _, after = line.partition(" - ")
    where, what = before.split(" "), after.split(" ")
    if len(where) < 6 or len(what) < 3:
        return NOWHERE
    return Mount(_decoded(where[4]), what[0], frozenset(f"{where[5]},{what[2]}".split(",")))


def _decoded(text: str) -> str:
    r"""A mount point with its blanks and backslashes, which the kernel writes as \040 and \134."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _holds(point: str, path: str) -> bool:
    return bool(point) and (path == point or path.startswith(point.rstrip("/") + "/"))
