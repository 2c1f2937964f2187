"""Which file system holds a path, from tables of mounts as kernels write them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from priorband.storage.filesystems import (
    UNKNOWN_MOUNT,
    filesystem_type,
    lock_safety,
    mount_holding,
    mount_lock_safety,
)

TABLE = r"""
22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
28 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
40 28 0:35 / /home rw,relatime shared:20 - autofs systemd-1 rw,fd=29,pgrp=1,timeout=0
41 40 0:44 / /home rw,relatime shared:21 - nfs4 nas:/home rw,vers=4.2,hard,local_lock=none
42 41 0:45 / /home/ada/scratch\040space rw shared:22 master:1 - xfs /dev/sdb1 rw,attr2
43 28 0:46 / /mnt/a\134b rw - tmpfs tmpfs rw,size=1024k
44 28 0:47 / /home2 rw - btrfs /dev/sdc rw,subvol=/
45 28 0:48 / /data rw,relatime - lustre 10.0.0.1@tcp:/data rw,flock,lazystatfs
46 28 0:49 / /data/here rw,relatime - lustre 10.0.0.1@tcp:/data rw,localflock
47 28 0:50 / /cloud rw,nosuid - fuse.s3fs s3fs rw,user_id=0,group_id=0
48 28 0:51 / /old rw,relatime - nfs nas:/old rw,vers=3,nolock,local_lock=all
49 28 0:52 / /ceph rw - fuse.ceph-fuse ceph-fuse rw
50 28 0:53 / /odd rw - fuse.something something rw
51 28 0:54 / /merged rw - fuse.mergerfs a:b rw
52 28 0:55 / /windows rw - cifs //nas/c rw,vers=3.1.1
53 28 0:56 / /nobrl rw - cifs //nas/c rw,vers=3.1.1,nobrl
a line that is none
54 28
"""


@pytest.mark.parametrize(
    ("path", "point", "type_", "expected"),
    [
        ("/", "/", "ext4", "local"),
        ("/etc/study.db", "/", "ext4", "local"),
        ("/home", "/home", "nfs4", "network"),
        ("/home/ada/study.db", "/home", "nfs4", "network"),
        ("/home/ada/scratch space/study.db", "/home/ada/scratch space", "xfs", "local"),
        ("/home/ada/scratch spaces", "/home", "nfs4", "network"),
        ("/home2/study.db", "/home2", "btrfs", "local"),
        ("/homeless", "/", "ext4", "local"),
        ("/mnt/a\\b/study.db", "/mnt/a\\b", "tmpfs", "local"),
        ("/data/study.db", "/data", "lustre", "network"),
        ("/data/here/study.db", "/data/here", "lustre", "unsafe"),
        ("/cloud/study.db", "/cloud", "fuse.s3fs", "unsafe"),
        ("/old/study.db", "/old", "nfs", "unsafe"),
        ("/ceph/study.db", "/ceph", "fuse.ceph-fuse", "network"),
        ("/odd/study.db", "/odd", "fuse.something", "network"),
        ("/merged/study.db", "/merged", "fuse.mergerfs", "local"),
        ("/windows/study.db", "/windows", "cifs", "network"),
        ("/nobrl/study.db", "/nobrl", "cifs", "unsafe"),
    ],
)
def test_the_longest_and_last_mount_above_a_path_holds_it(
    path: str, point: str, type_: str, expected: str
) -> None:
    mount = mount_holding(TABLE, path)
    assert (mount.point, mount.type, mount_lock_safety(mount)) == (point, type_, expected)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("ext4 xfs btrfs zfs tmpfs overlay f2fs fuseblk apfs", "local"),
        ("nfs nfs4 cifs smb3 smbfs lustre gpfs ceph glusterfs gfs2 ocfs2", "network"),
        ("fuse.ceph fuse.glusterfs fuse.juicefs fuse", "network"),
        ("9p vboxsf virtiofs afs beegfs pvfs2", "unsafe"),
        ("fuse.sshfs fuse.s3fs fuse.rclone fuse.gcsfuse fuse.goofys", "unsafe"),
    ],
)
def test_what_each_file_system_is_good_for(types: str, expected: str) -> None:
    for name in types.split():
        assert (
            mount_lock_safety(mount_holding(f"1 0 0:1 / / rw - {name} somewhere rw", "/x"))
            == expected
        ), name


@pytest.mark.parametrize("table", ["", "\n", "1 2 3", " - ", "1 0 0:1 / / rw -", "\0" * 100])
def test_a_table_that_says_nothing_is_no_error(table: str) -> None:
    assert mount_holding(table, "/x") == UNKNOWN_MOUNT
    assert mount_lock_safety(UNKNOWN_MOUNT) == "local"


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="needs Linux's mountinfo")
def test_this_machine_knows_its_own_file_systems(tmp_path: Path) -> None:
    assert filesystem_type("/proc/self/status") == filesystem_type("/proc") == "proc"
    link = tmp_path / "link"
    link.symlink_to("/proc")
    assert filesystem_type(link / "self") == "proc"
    assert (
        filesystem_type(tmp_path / "not" / "there" / "study.db") == filesystem_type(tmp_path) != ""
    )
    assert lock_safety(tmp_path) in ("local", "network", "unsafe")


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="needs Linux's mountinfo")
def test_a_relative_path_is_held_where_the_process_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert filesystem_type("study.db") == filesystem_type(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_mount_over_a_mount_is_the_one_that_counts(tmp_path: Path) -> None:
    point = tmp_path / "a b\\c\tü"
    point.mkdir()
    script = (
        "import sys; from priorband.storage.filesystems import filesystem_type\n"
        "print(filesystem_type(sys.argv[1]))"
    )
    shell = 'mount -t tmpfs x "$1" && mount -t ramfs y "$1" && exec "$2" -c "$3" "$1/study.db"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", shell, "sh", point, sys.executable, script],
        capture_output=True,
        text=True,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    assert done.stdout == "ramfs\n", done.stderr
