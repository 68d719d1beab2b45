# %% [markdown]
# # 12 · The audit trail as a DataFrame
#
# Who decided what, when, why, and after how long? Every decision is a row in the store.
# `hitl.history()` shows them and names what stands out; with pandas and matplotlib you ask questions
# of your own, such as *does anybody still read the cards?* No network needed.
#
#     pip install "hitl-widgets[pandas]" matplotlib

# %%
import asyncio
import random
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import hitl_widgets as hitl

store = Path(tempfile.mkdtemp()) / "audit.db"

# %% [markdown]
# ## A busy day
#
# First we need decisions. This cell plays a day of an agent and of three reviewers, in about ten
# seconds: forty calls, each decided after a moment. Look at Chris: always yes, always at once. And
# look at the mails: every second one is the same, to the team.

# %%
at_once = asyncio.Semaphore(8)


@hitl.tool(require_approval=True, effect="write")
async def send_mail(to: str) -> str:
    """Send a mail."""
    return "sent"


@hitl.tool(effect="destructive")
async def delete_table(name: str) -> str:
    """Delete a table."""
    return "deleted"


@hitl.tool(require_approval=True, effect="costly")
async def train(hours: int) -> str:
    """Train a model."""
    return "trained"


def propose(n):
    kind = n % 4
    if kind == 0:
        return hitl.call("delete_table", name=f"t{n}")
    if kind == 1:
        return hitl.call("train", hours=n)
    if kind == 2:
        return hitl.call("send_mail", to="team@example.com")
    return hitl.call("send_mail", to=f"{n}@example.com")


async def one_call(n):
    async with at_once:
        await decide_one(n, random.Random(n))


async def decide_one(n, dice):
    agent = hitl.Agent(
        "office",
        tools=[send_mail, delete_table, train],
        model=hitl.ScriptedModel([[propose(n)], "Done."]),
        store=store,
    )
    run = await agent.generate("Go on")
    request = run.requests[0]
    who = dice.choice(["ada", "bob", "chris"])
    careful = who != "chris"
    slow = {"send_mail": 1.4, "train": 2, "delete_table": 3}[request.tool_name]
    await asyncio.sleep(dice.uniform(0.8, 1.2) * slow if careful else 0.05)
    no = careful and dice.random() < (0.5 if request.tool_name == "delete_table" else 0.15)
    decision = hitl.Decline("Not needed.") if no else hitl.Approve()
    await hitl.decide(request, decision, fingerprint=request.fingerprint, reviewer=who)


await asyncio.gather(*(one_call(n) for n in range(40)))
len(hitl.history(store))

# %% [markdown]
# ## What it shows by itself
#
# As a cell's last expression a history draws how long people took and what they decided per tool.
# Above that it names what is worth a look: approvals in under a second, and a call that was approved
# again and again. For the latter it says which narrow grant would end the question, and exactly what
# that grant would have let through: nothing else.

# %%
history = hitl.history(store)
history

# %% [markdown]
# The same findings for programs; `history.to_csv("decisions.csv")` and `history.to_json(…)` keep the
# rows elsewhere.

# %%
for found in history.patterns:
    print(found.kind, len(found.requests), found.requests[0].tool_name)

# %% [markdown]
# ## The table
#
# `to_frame()` makes it a DataFrame. `args` never holds a secret in clear. `via` tells a click (`card`,
# `inbox`) from code (`api`), a rule or a replay; `identity_source` says how we know the name.

# %%
audit = history.to_frame()
audit[["tool", "verdict", "reviewer", "via", "identity_source", "seconds"]].head()

# %% [markdown]
# ## What is declined, and by whom?
#
# A tool that is never declined may not need a gate. One that is declined half of the time needs a
# better prompt. A reviewer who never declines anything may not be reading.

# %%
pd.crosstab([audit["tool"], audit["reviewer"]], audit["verdict"])

# %% [markdown]
# ## Does anybody read the cards?
#
# Seconds to decide, per reviewer. Nobody reads arguments in a blink: Chris only clicks. That is what too many cards do to people; lesson 4 asks for less.

# %%
people = sorted(audit["reviewer"].unique())
figure, axes = plt.subplots(figsize=(7, 2.6))
axes.boxplot(
    [audit.loc[audit["reviewer"] == name, "seconds"] for name in people],
    orientation="horizontal",
    tick_labels=people,
)
axes.set(title="Seconds to decide, by reviewer", xlabel="seconds", xlim=(0, None))
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Can the record be trusted?
#
# Every row holds the hash of the row before it. Changing one, or leaving one out, breaks the
# chain. From a shell: `hitl-widgets store verify`.

# %%
office = hitl.Agent("office", model=hitl.ScriptedModel(["Hello."]), store=store)
print("faults:", office.store.check())

# %% [markdown]
# Let somebody turn a no into a yes. The file refuses at first:

# %%
import sqlite3
from contextlib import closing

FORGE = (
    "UPDATE events SET kind = 'approved' WHERE seq = "
    "(SELECT min(seq) FROM events WHERE kind = 'declined')"
)
with closing(sqlite3.connect(store)) as db:
    try:
        db.execute(FORGE)
    except sqlite3.IntegrityError as refused:
        print("Refused:", refused)

# %% [markdown]
# Somebody who knows SQLite takes the guards away. Then the chain tells:

# %%
with closing(sqlite3.connect(store)) as db, db:
    guards = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'"
    ).fetchall()
    for (guard,) in guards:
        db.execute(f'DROP TRIGGER "{guard}"')
    db.execute(FORGE)
print("faults:", office.store.check())

# %% [markdown]
# The change is **detected**, not prevented: who owns the file can also delete it. For a copy in
# another place, as it is written: `hitl.configure(audit=…)`, with a file, a logger or a function.
#
# ## Exercises
#
# **12a.** Which tool takes people longest, by the median of `seconds`? Keep its name as `slowest`.
# **12b.** Keep the share of declined requests (0 to 1) per reviewer as a Series `refusals`,
# indexed by the reviewer.

# %%
# your code here
# solution:
slowest = audit.groupby("tool")["seconds"].median().idxmax()
refusals = audit.groupby("reviewer")["verdict"].apply(lambda v: (v == "decline").mean())


# %%
def declined_of(reviewer):
    theirs = audit[audit["reviewer"] == reviewer]
    return (theirs["verdict"] == "decline").sum() / len(theirs)


hitl.testing.check_exercise(
    "12",
    {
        "deleting makes people think longest": lambda: slowest == "delete_table",
        "Chris never declines": lambda: refusals["chris"] == 0,
        "Ada does, at times": lambda: abs(refusals["ada"] - declined_of("ada")) < 1e-9,
        "Bob too": lambda: abs(refusals["bob"] - declined_of("bob")) < 1e-9,
    },
)
