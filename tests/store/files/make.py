"""Write a file of the present version as text: ``python -m tests.store.files.make v1.sql``.

Run once when a version is released; what is kept here is never written again.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from hitl_widgets.store import leases
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import waiting

if __name__ == "__main__":
    leases.host = lambda: "example"
    leases._boot = lambda: "b007"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        store = SqliteStore(path)
        waiting(store)
        store.close()
        db = sqlite3.connect(path)
        lines = [
            f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        lines += db.iterdump()
        db.close()
    (Path(__file__).parent / sys.argv[1]).write_text("\n".join(lines) + "\n")
