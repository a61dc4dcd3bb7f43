"""Files that are there in full, or not at all; every write to a database goes through here.

A file is written under its own new name, or under a temporary one, then fsynced; a name that readers look for
appears by a hard link, which fails where the name exists. Folders are fsynced so that names outlive a power
cut. With ``durable=False``, which callers of the package know as ``durability="fast"``, nothing is fsynced: a
program that dies loses nothing of what was committed, the machine may.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from colonnade.errors import HeaderError, SchemaError, StaleVersionError
from colonnade.store.filenames import temporary

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP)  # of file systems that have none
DURABILITIES: Final = ("safe", "fast")


def is_durable(durability: str) -> bool:
    """Read the word for how lasting a commit is.

    ``"safe"``: a change that was committed is there after a power cut. ``"fast"``: it is there when a program
    dies or is killed, but after a power cut the changes of the last half minute may be missing or damaged,
    which checksums tell.
    """
    if durability not in DURABILITIES:
        raise SchemaError(f"unknown durability {durability!r}; expected 'safe' or 'fast'")
    return durability == "safe"


def create_file(path: Path) -> int:
    """Create a file that wasn't there and give its descriptor, open for writing.

    Its rights are those that the umask leaves, its group that of the folder, where the system lets us.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    _take_group(path)
    return descriptor


def _take_group(created: Path) -> None:
    """Give what was just created the group of its folder, as a folder with the setgid bit does by itself."""
    with contextlib.suppress(OSError):  # not a member, or a file system without groups
        group = created.parent.stat().st_gid
        if created.stat().st_gid != group:
            os.chown(created, -1, group)


@contextmanager
def new_file(path: Path, *, durable: bool) -> Iterator[int]:
    """Create a file that wasn't there and give its descriptor; fsync it at the end, remove it on an error."""
    descriptor = create_file(path)
    try:
        try:
            yield descriptor
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def write_all(descriptor: int, content: bytes | memoryview) -> None:
    """Write every byte; `os.write` may take fewer."""
    rest = memoryview(content).cast("B")
    while len(rest):
        rest = rest[os.write(descriptor, rest) :]


def publish(path: Path, content: bytes, *, durable: bool) -> bool:
    """Create ``path`` with this content; give False where somebody else created it first.

    The caller fsyncs the folder once everything in it is there, with `sync_folders`.
    """
    draft = temporary(path)
    with new_file(draft, durable=durable) as descriptor:
        write_all(descriptor, content)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return True


def make_folders(path: Path) -> None:
    """Create a folder and those above it, each with the group of the one it lies in; see `create_file`."""
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise
    except FileNotFoundError:
        make_folders(path.parent)
        make_folders(path)
    else:
        _take_group(path)


def sync_folders(folders: Iterable[Path], *, durable: bool) -> None:
    """Fsync folders, so that the names in them outlive a power cut."""
    if not durable:
        return
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_to_read(path: str | Path) -> int:
    """Open a committed file for reading and give its descriptor; symbolic links are not followed.

    Raises
    ------
    StaleVersionError
        If it isn't there: whoever named it reads a version that was cleaned away.
    HeaderError
        If it is a symbolic link.
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _gone(path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise HeaderError(f"'{path}' is a symbolic link; expected a file") from None
        raise


def read_file(path: Path) -> bytes:
    """Read a committed file as a whole; see `open_to_read`."""
    descriptor = open_to_read(path)
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def check_folder(path: str | Path) -> None:
    """Raise where a folder of committed files isn't there, or is a symbolic link."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        raise _gone(path) from None
    if not stat.S_ISDIR(mode):
        found = "a symbolic link" if stat.S_ISLNK(mode) else "no folder"
        raise HeaderError(f"'{path}' is {found}; expected a folder")


def file_identity(path: Path) -> tuple[int, int, int]:
    """Give inode, time of change and size: equal as long as a path names the same committed file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise _gone(path) from None
    return status.st_ino, status.st_mtime_ns, status.st_size


def lock_shared(descriptor: int) -> None:
    """Take a shared lock on a file, waiting for it; the descriptor is closed where that fails."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            os.close(descriptor)
            raise


def lock_alone(descriptor: int) -> bool:
    """Take the exclusive lock on a file; give whether nobody else holds one, as far as can be known."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _gone(path: str | Path) -> StaleVersionError:
    return StaleVersionError(f"'{path}' is gone: its version was cleaned away, or it was deleted; read again")
