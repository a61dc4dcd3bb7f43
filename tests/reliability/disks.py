"""File systems in a file whose power can be cut: the kernel forgets at once what it had not written."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

FILE_SYSTEMS: Final = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f")}
_SHUTDOWN: Final = 0x8004587D  # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN
_NO_LOG_FLUSH: Final = struct.pack("I", 2)
_IMAGE_BYTES: Final = 384 << 20  # the smallest that mkfs.xfs takes is 300 MiB; the file is sparse
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Disk:
    """A mounted file system that lies in a file."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.image = folder / "disk.img"
        self.root = folder / "disk"
        self.root.mkdir()
        with self.image.open("wb") as file:
            file.truncate(_IMAGE_BYTES)
        command(*FILE_SYSTEMS[kind], self.image)
        self.mount()

    def mount(self) -> None:
        """Mount it; the file system repairs itself from its log."""
        command("mount", "-o", "loop", "-t", self.kind, self.image, self.root)

    def unmount(self) -> None:
        """Unmount it."""
        command("umount", self.root)

    def cut_power(self) -> None:
        """Stop the file system without another byte reaching the disk; what is open fails from now on."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(descriptor)


@contextmanager
def disk(kind: str, folder: Path) -> Iterator[Disk]:
    """Make and mount a file system; skip the test where that can't be."""
    needs_root()
    if shutil.which(FILE_SYSTEMS[kind][0], path=_PATH) is None:
        packages = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}
        pytest.skip(f"there is no {FILE_SYSTEMS[kind][0]}; install {packages[kind]}")
    if kind not in Path("/proc/filesystems").read_text("utf-8"):
        pytest.skip(f"this kernel has no {kind}")
    try:
        made = Disk(kind, folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"a file can't be mounted here: {error.stderr.decode().strip()}")
    try:
        yield made
    finally:
        with suppress(subprocess.CalledProcessError):
            command("umount", "--lazy", made.root)


def needs_root() -> None:
    """Skip the test unless root runs it."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")


def command(*words: str | Path) -> None:
    """Run a command of the system that may lie in /usr/sbin."""
    subprocess.run(words, env=_environment(), check=True, capture_output=True)


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": _PATH, "LC_ALL": "C"}
