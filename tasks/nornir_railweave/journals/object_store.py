"""Journals in an object store (S3, Google Cloud Storage, Azure), one object a record.

An object is created on the condition that there is none of its name. Credentials, region and endpoint are what obstore
takes from the environment, as the vendors' own tools do (``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT``, and so on).
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from nornir_railweave.journals.store import StoreError, later_than

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Bucket

_MISSING = "journals in an object store need the extra: `pip install 'railweave[journals]'`"
_AT_ONCE = 16
_RETRY_S = 30


def open_object_store(url: str) -> "ObjectStore":
    """Return the store of a URL such as ``s3://BUCKET/PREFIX``.

    Raises StoreError if obstore is not installed, or cannot use the URL.
    """
    try:
        from obstore.store import from_url
    except ImportError:
        raise StoreError(_MISSING) from None
    try:
        if url.startswith("file:"):
            return ObjectStore(from_url(url, mkdir=True))
        return ObjectStore(from_url(url, retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=_RETRY_S)}))
    except Exception as fault:
        # obstore raises several kinds that have no base of their own.
        raise StoreError(f"{url}: {fault}") from None


class ObjectStore:
    """A bucket, or a prefix of one."""

    def __init__(self, bucket: "Bucket") -> None:
        """Keep the bucket that obstore opened."""
        self._bucket = bucket

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the objects in their order; only those of ``folder`` if it is given."""
        import obstore

        names: list[str] = []
        with _as_store_errors():
            for page in obstore.list(self._bucket, folder or None):
                names += (entry["path"] for entry in page)
        return sorted(names)

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of objects, which are read several at once; objects that are gone are left out."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            contents = zip(names, pool.map(self._content, names), strict=True)
            return {name: content for name, content in contents if content is not None}

    def create(self, name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        """Create an object, then remove those of ``removing``.

        Returns False, and leaves no object of its own, if the name exists or an object with a later name has come.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            with _as_store_errors(AlreadyExistsError, PreconditionError):
                obstore.put(self._bucket, name, data, mode="create")
        except (AlreadyExistsError, PreconditionError):
            # After a lost answer the library repeats its request, which then finds this very object.
            if self._content(name) != data:
                return False
        folder, _, _ = name.rpartition("/")
        if later_than(name, self.names(folder)):
            # Another runner was faster: its record counts, and this one is withdrawn.
            with _as_store_errors():
                obstore.delete(self._bucket, name)
            return False
        if removing:
            # A record that cannot be removed does no harm, because the new record names those that it replaces.
            with suppress(StoreError), _as_store_errors():
                obstore.delete(self._bucket, list(removing))
        return True

    def _content(self, name: str) -> bytes | None:
        """Return the content of an object; None if there is no object of this name."""
        import obstore
        from obstore.exceptions import NotFoundError

        try:
            with _as_store_errors(NotFoundError, FileNotFoundError):
                return bytes(obstore.get(self._bucket, name).bytes())
        except (NotFoundError, FileNotFoundError):
            return None


@contextmanager
def _as_store_errors(*passed: type[BaseException]) -> Iterator[None]:
    """Raise StoreError for any exception of the block, except those of the types ``passed``."""
    try:
        yield
    except passed:
        raise
    except Exception as fault:  # obstore's own, and OSError, ValueError, TimeoutError of Python
        raise StoreError(f"the object store: {fault}") from None
