"""Which file system holds a path, and whether its locks are safe for a database."""

import os
import re
from typing import Literal, NamedTuple

LockSafety = Literal["local", "network", "unsafe"]
"""What a database can rely on.

- "local": locks and shared memory work for all processes, which are on one machine.
- "network": locks work between machines, shared memory does not. No write-ahead log can be used.
- "unsafe": locks do not work between machines. Two machines would corrupt a database.
"""


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


NETWORK = _words(
    "acfs ceph cifs coda gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 panfs smb2 smb3 smbfs",
    "wekafs fuse.ceph fuse.ceph-fuse fuse.glusterfs fuse.juicefs fuse.lizardfs fuse.mfs",
    "fuse.moosefs fuse.quobyte",
)
"""File systems with locks that work between machines."""

UNSAFE = _words(
    # These lock byte ranges within one machine only, unless set up in a way that no mount table
    # shows.
    "afs beegfs fhgfs orangefs pvfs2 fuse.pvfs2fuse",
    # A virtual machine's view of its host's files.
    "9p fakeowner prl_fs vboxsf virtiofs vmhgfs fuse.grpcfuse fuse.osxfs fuse.vmhgfs-fuse",
    # Object stores and remote shells.
    "curlftpfs davfs fuse.alluxio-fuse fuse.blobfuse fuse.blobfuse2 fuse.curlftpfs fuse.davfs",
    "fuse.davfs2 fuse.fuse_dfs fuse.gcsfuse fuse.geesefs fuse.goofys fuse.mount-s3",
    "fuse.mountpoint-s3 fuse.rclone fuse.s3fs fuse.s3ql fuse.sshfs",
)
"""File systems with locks that do not work between machines."""

LOCAL_FUSE = _words(
    "fuse.bindfs fuse.cryfs fuse.encfs fuse.exfat fuse.fuse-overlayfs fuse.gocryptfs fuse.lxcfs",
    "fuse.mergerfs fuse.ntfs fuse.ntfs-3g fuse.overlayfs fuse.shfs fuse.unionfs fuse.zfs",
)
"""File systems in user space (FUSE) on top of a disk of this machine."""

LOCAL_LOCK_OPTIONS = _words("localflock local_lock=all local_lock=posix nobrl nolock")
"""Mount options with which a network file system does not pass locks on to its server."""


class Mount(NamedTuple):
    """A line of the table of mounts."""

    point: str
    type: str
    options: frozenset[str]


UNKNOWN_MOUNT = Mount("", "", frozenset())


def filesystem_type(path: str | os.PathLike[str]) -> str:
    """The type of the file system that holds a path, such as "ext4"; empty if it is unknown.

    If the path does not exist, this is the file system that it would be created in.
    """
    return _mount(path).type


def lock_safety(path: str | os.PathLike[str]) -> LockSafety:
    """Whether the locks of the file system that holds a path are safe for a database."""
    return mount_lock_safety(_mount(path))


def mount_lock_safety(mount: Mount) -> LockSafety:
    """Whether the locks of a mounted file system are safe for a database.

    An unknown file system in user space counts as "network", which is slower and always safe.
    """
    in_user_space = mount.type == "fuse" or mount.type.startswith("fuse.")
    if mount.type in UNSAFE:
        return "unsafe"
    if mount.type in NETWORK or (in_user_space and mount.type not in LOCAL_FUSE):
        return "unsafe" if mount.options & LOCAL_LOCK_OPTIONS else "network"
    return "local"


def mount_holding(table: str, path: str) -> Mount:
    """The mount that holds a path without links, given the text of a `mountinfo` file.

    It is the one with the longest mount point above the path; of several, the last.

    >>> table = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\\n30 21 0:4 / /home rw - nfs4 x:/ rw"
    >>> mount_holding(table, "/home/ada/study.db")
    Mount(point='/home', type='nfs4', options=frozenset({'rw'}))
    """
    longest = UNKNOWN_MOUNT
    for mount in map(_parsed, table.split("\n")):
        if _is_above(mount.point, path) and len(mount.point) >= len(longest.point):
            longest = mount
    return longest


def _mount(path: str | os.PathLike[str]) -> Mount:
    real = os.path.realpath(path)  # before the table is read: this can trigger an automatic mount
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            table = os.fsdecode(file.read())
    except OSError:
        return UNKNOWN_MOUNT
    return mount_holding(table, real)


def _parsed(line: str) -> Mount:
    """The mount of a line: id, parent, device, root, point, options, tags - type, source, options.

    A line that is not one gives `UNKNOWN_MOUNT`.
    """
    before, _, after = line.partition(" - ")
    mounted, filesystem = before.split(" "), after.split(" ")
    if len(mounted) < 6 or len(filesystem) < 3:
        return UNKNOWN_MOUNT
    options = frozenset(f"{mounted[5]},{filesystem[2]}".split(","))
    return Mount(_decoded(mounted[4]), filesystem[0], options)


def _decoded(text: str) -> str:
    r"""A mount point with its spaces and backslashes, which the kernel writes as \040 and \134."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _is_above(point: str, path: str) -> bool:
    return bool(point) and (path == point or path.startswith(point.rstrip("/") + "/"))
