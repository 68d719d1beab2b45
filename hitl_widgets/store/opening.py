"""Which store: from a path, an object, or nothing said."""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path
from typing import Any, cast

from hitl_widgets.errors import StoreReadOnly

from .base import Store

MEMORY = ":memory:"

_stores: dict[str, Store] = {}
_lock = threading.Lock()


def open_store(store: str | os.PathLike[str] | Store | None = None) -> Store:
    """The store that is meant; one object per file and process.

    Parameters
    ----------
    store
        A path; ``":memory:"`` (one per process, gone with it); a store object (returned as it
        is); None for ``HITL_STORE``, else a file in the user's data directory.

    Raises
    ------
    TypeError, ValueError
        It is none of these.
    StoreError
        When the store is first used: the path cannot hold one.
    """
    check_store(store)
    if store is None:
        store = os.environ.get("HITL_STORE") or _default_path()
    if not isinstance(store, str | os.PathLike):
        return store
    path = os.fspath(store)
    if path != MEMORY:
        path = os.path.realpath(Path(path).expanduser())
    with _lock:
        found = _stores.get(path)
        if found is None:
            from .sqlite import SqliteStore  # noqa: PLC0415  # importing stays light

            found = _stores[path] = SqliteStore(path)
            if path == MEMORY:
                _warn()
    return found


def check_store(store: Any) -> None:
    """Refuse what `open_store` cannot take, without opening anything.

    Raises
    ------
    TypeError, ValueError
    """
    if store is None or hasattr(store, "open_run"):
        return
    if not isinstance(store, str | os.PathLike):
        raise TypeError(
            f"store= takes a path, ':memory:', a store or None, not {type(store).__name__}."
        )
    if not os.fspath(cast("os.PathLike[str]", store)):
        raise ValueError("A store needs a path; store=None means the configured default.")


def _default_path() -> str:
    import platformdirs  # noqa: PLC0415  # needed by few

    folder = Path(platformdirs.user_data_dir("hitl-widgets", appauthor=False))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreReadOnly(
            f"There is no place for a store: {folder} cannot be made ({error.strerror}). Name a "
            "file that you can write in HITL_STORE."
        ) from error
    return str(folder / "store.sqlite")


def _warn() -> None:
    warnings.warn(
        "A store in memory does not outlive the kernel: what waits in it is lost at a restart.",
        stacklevel=3,
    )
