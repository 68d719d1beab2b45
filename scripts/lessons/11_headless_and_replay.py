# %% [markdown]
# # 11 · When nobody is there: headless runs, recorded decisions, replay
#
# At night a notebook runs by papermill, in CI, in a job. Nobody can click. What then? The rule is:
# **never run it anyway**. This lesson shows what happens instead, and how to bring decisions along.
# No network needed.

# %%
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import hitl_widgets as hitl

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# Here is a job, a small program of its own, and a function that runs it with nobody there.

# %%
JOB = '''
import asyncio
import hitl_widgets as hitl

@hitl.tool(require_approval=True)
async def retrain(model: str, hours: int) -> str:
    """Train a model again."""
    return f"trained {model}"

agent = hitl.Agent(
    "trainer",
    tools=[retrain],
    model=hitl.ScriptedModel([
        [hitl.call("retrain", model="prices", hours=3)],
        lambda messages: f"told: {messages[-1].parts[-1].content}",
    ]),
)
'''
RUN = """
try:
    print(asyncio.run(agent.run("Retrain", key="night")).text)
except hitl.RunSuspended as waits:
    print(waits)
"""


def job(before="", after=RUN, store="night.db"):
    """Run the job with nobody there, and show what it prints."""
    around = {**os.environ, "HITL_STORE": str(folder / store)}
    around.pop("HITL_REVIEWER", None)
    done = subprocess.run(
        [sys.executable, "-c", JOB + before + after],
        env=around,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    print((done.stderr if done.returncode else done.stdout).replace(str(folder), "…"))


# %% [markdown]
# ## It stops, and says how to go on
#
# A papermill job with this error fails visibly, and nothing is lost: the request waits on disk.

# %%
job()

# %% [markdown]
# In the morning a person decides it: in any notebook (`hitl.inbox(store)`), or by the command that
# the error named. Then the job runs again. Because of `key="night"` it is the **same** run that
# goes on, with nothing asked twice.

# %%
store = folder / "night.db"
(request,) = await hitl.pending(store)
await hitl.decide(request, hitl.Approve(), reviewer="ada")
job()

# %% [markdown]
# Other ways to go on, by `hitl.configure(headless=…)`: `"decline"` tells the model no and lets the
# run end; `"error"` cancels it.

# %%
job(before='\nhitl.configure(headless="decline")\n', store="other.db")

# %% [markdown]
# ## Recorded decisions
#
# `hitl.record(path)` writes what **people** decided into a small file, each decision under the
# fingerprint of what they saw. It can be kept in git and reviewed like code.

# %%
print(hitl.record(folder / "decisions.json", store=store), "decision recorded")
print((folder / "decisions.json").read_text()[:200], "…")

# %% [markdown]
# `hitl.replay(path)` answers by the file, **only** where the fingerprint is exactly the same. So
# the same job passes with nobody there…

# %%
job(before='\nprint(hitl.replay("decisions.json"), "to replay")\n', store="replayed.db")

# %% [markdown]
# …and a job that wants 300 hours instead of 3 does not. Nobody approved that.

# %%
JOB = JOB.replace("hours=3)", "hours=300)")
job(before='\nhitl.replay("decisions.json")\n', store="changed.db")

# %% [markdown]
# ## A scripted reviewer, for tests
#
# In tests of your own agent write the decisions down. In the record they stand as a test's.

# %%
from hitl_widgets.testing import AutoApprove, scripted


@hitl.require_approval
async def deploy(version: str) -> str:
    """Deploy a version."""
    return f"deployed {version}"


def no_beta(request):
    """Decline a beta; pass on everything else."""
    return hitl.Decline("beta") if "beta" in request.args["version"] else None


careful = scripted(no_beta, ("deploy", hitl.Approve()))
with hitl.reviewer(careful):
    print(await deploy("1.0"))
    try:
        await deploy("2.0-beta")
    except hitl.Declined as no:
        print("declined:", no.reason)
print("asked:", [request.args["version"] for request in careful.seen])

# %% [markdown]
# `AutoApprove()` says yes to all, and has to be asked for by name.
#
# ## Exercises
#
# **11a.** Write a reviewer `only_small(request)`: approve when `request.args["rows"]` is at most
# 100, else decline with a reason. **11b.** Run `delete_rows(50)` and `delete_rows(5000)` under it;
# keep the first result as `small` and the `hitl.Declined` error of the second as `large`.


# %%
@hitl.require_approval
async def delete_rows(rows: int) -> str:
    """Delete rows."""
    return f"deleted {rows}"


# your code here
# solution:
@hitl.require_approval
async def delete_rows(rows: int) -> str:
    """Delete rows."""
    return f"deleted {rows}"


def only_small(request):
    if request.args["rows"] <= 100:
        return hitl.Approve()
    return hitl.Decline("Too many rows.")


with hitl.reviewer(only_small):
    small = await delete_rows(50)
    try:
        await delete_rows(5000)
    except hitl.Declined as error:
        large = error

# %%
from types import SimpleNamespace


def judged(rows):
    return only_small(SimpleNamespace(args={"rows": rows}))


hitl.testing.check_exercise(
    "11",
    {
        "50 rows were deleted": lambda: small == "deleted 50",
        "100 would be, 101 would not": lambda: (
            isinstance(judged(100), hitl.Approve) and isinstance(judged(101), hitl.Decline)
        ),
        "5000 were not, and you said why": lambda: bool(large.reason),
        "the record names your rule": lambda: "only_small" in hitl.history()[-1]["reviewer"],
    },
)
