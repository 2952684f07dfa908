"""A folder in any file system that Spark's Hadoop knows: HDFS, object stores, or this machine."""

from typing import Any, NamedTuple

from pyspark.sql import SparkSession


class File(NamedTuple):
    path: str
    """As a URI."""
    size: int
    modified: int
    """Milliseconds since 1970."""


class Folder:
    """Paths are relative to `root`."""

    def __init__(self, session: SparkSession, root: str) -> None:
        self._jvm = _java(session)
        self._gateway: Any = session.sparkContext._gateway
        self._conf: Any = session.sparkContext._jsc.hadoopConfiguration()
        self._hadoop = self._jvm.org.apache.hadoop.fs
        path = self._hadoop.Path(root)
        self._files = path.getFileSystem(self._conf)
        self._root = self._files.makeQualified(path)
        self.root: str = self._root.toString()

    def uri(self, name: str) -> str:
        path: str = self._path(name).toString()
        return path

    def names(self, under: str) -> list[str]:
        """Of every file below."""
        start = len(self.root.rstrip("/")) + 1
        path = self._path(under)
        if not self._files.exists(path):
            return []
        return sorted(file.path[start:] for file in _listed(self._files, path))

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name)))

    def read(self, name: str) -> str:
        stream = self._files.open(self._path(name))
        try:
            commons = self._jvm.org.apache.commons.io.IOUtils
            text: str = commons.toString(stream, "UTF-8")
            return text
        finally:
            stream.close()

    def replace(self, name: str, text: str) -> None:
        """Readers see the old text or the new one, never a part."""
        fresh = self._path(f"{name}.new")
        stream = self._files.create(fresh, True)
        try:
            stream.write(bytearray(text.encode()))
            if stream.hasCapability("hsync"):
                stream.hsync()
        finally:
            stream.close()
        context = self._hadoop.FileContext.getFileContext(self._root.toUri(), self._conf)
        overwrite = self._gateway.new_array(self._jvm.org.apache.hadoop.fs.Options.Rename, 1)
        overwrite[0] = self._jvm.org.apache.hadoop.fs.Options.Rename.OVERWRITE
        context.rename(fresh, self._path(name), overwrite)

    def move(self, name: str, to: str) -> None:
        target = self._path(to)
        self._files.mkdirs(target.getParent())
        if not self._files.rename(self._path(name), target):
            raise OSError(f"cannot move {self.uri(name)} to {target.toString()}")

    def delete(self, name: str) -> None:
        """With all that is below it, if it is there."""
        self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._hadoop.Path(self._root, name)


def files_at(session: SparkSession, pattern: str) -> list[File]:
    """Those that a path or a pattern names; of patterns and folders only those that are not hidden.

    Spark passes over hidden files without a word, so those that are named one by one are here, to be refused.
    """
    jvm = _java(session)
    path = jvm.org.apache.hadoop.fs.Path(pattern)
    files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    found: list[File] = []
    for status in files.globStatus(path) or ():
        if is_pattern(pattern) and is_hidden(status.getPath().getName()):
            continue
        if not status.isDirectory():
            found.append(_file(status))
            continue
        start = len(status.getPath().toString().rstrip("/"))
        below = _listed(files, status.getPath())
        found += [file for file in below if not is_hidden(file.path[start:])]
    return found


def _java(session: SparkSession) -> Any:
    return session.sparkContext._jvm


def is_pattern(path: str) -> bool:
    """For Hadoop; a backslash takes the meaning of what follows it."""
    return any(character in "*?[{\\" for character in path)


def is_hidden(path: str) -> bool:
    """From Spark."""
    # Partition columns may begin with an underscore.
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.split("/"))


def _listed(files: Any, path: Any) -> list[File]:
    below = files.listFiles(path, True)
    found = []
    while below.hasNext():
        found.append(_file(below.next()))
    return found


def _file(status: Any) -> File:
    return File(status.getPath().toString(), int(status.getLen()), int(status.getModificationTime()))
