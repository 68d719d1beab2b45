# %% [markdown]
# # 10 · Running many, and the inbox
#
# Ten agents at work, three of them waiting for you, in any order: you do not want ten cells that
# block. Runs go on in the background, and what waits is in one place. No network needed.

# %%
import asyncio

import hitl_widgets as hitl

published = []


@hitl.tool(require_approval=True)
async def publish(title: str, risk: str) -> str:
    """Publish an article."""
    published.append(title)
    return f"published {title}"


def editor(title, risk):
    """An agent with one article to publish."""
    return hitl.Agent(
        "editor",
        tools=[publish],
        model=hitl.ScriptedModel(
            [
                [hitl.call("publish", title=title, risk=risk)],
                lambda messages: f"{messages[-1].parts[-1].content}",
            ]
        ),
    )


# %% [markdown]
# ## In the background
#
# `start` returns at once; a panel under the cell shows the run. **Decline** this one.

# %%
handle = editor("Gossip", "high").start("Publish it")
print(type(handle).__name__, "- the cell is done, the run is not")

# %%
result = await handle
print(result.text)

# %% [markdown]
# ## Many at once
#
# `generate` never asks: each of these runs works until only a person can move it on, and stops
# there, on disk. No memory, no thread and no connection is held for it.

# %%
articles = [("Weather", "low"), ("Sports", "low"), ("Scandal", "high"), ("Recipes", "low")]
runs = await asyncio.gather(*(editor(*article).generate("Publish it") for article in articles))
[run.finish_reason for run in runs]

# %% [markdown]
# ## The inbox
#
# Everything that waits, of every agent and notebook that uses this store. Decide what you like, in
# any order; the runs go on under their rows. (We go on from code, so you may leave them.)

# %%
hitl.inbox()

# %% [markdown]
# `hitl.pending()` is the same list for a program: to filter, to count, to decide by a rule of
# **yours**. A decision made in code is recorded as code's, never as a click.

# %%
waiting = [r for r in await hitl.pending(agent_id="editor")]
for request in waiting:
    print(request.args["title"], "-", request.args["risk"], "risk")

# %% [markdown]
# `decide_all` decides several together: all of them, or, if one was decided by somebody else in
# the meantime, none.

# %%
low = [r for r in waiting if r.args["risk"] == "low"]
receipts = await hitl.decide_all([(r, hitl.Approve()) for r in low])
print([receipt.state for receipt in receipts])

for run in runs:
    if run.requests[0].args["risk"] == "low":
        await editor("", "").attach(run.run_id)
print(sorted(published))

# %% [markdown]
# ## Two people, one request
#
# A colleague has the same inbox open and decides first. Exactly one decision counts; the other
# person is told who was first.

# %%
scandal = (await hitl.pending(agent_id="editor"))[-1]
await hitl.decide(scandal, hitl.Decline("Not ours."), reviewer="grace")
try:
    await hitl.decide(scandal, hitl.Approve(), reviewer="alan")
except hitl.AlreadyDecided as late:
    print("Too late:", late.state, "by", late.by)

# %% [markdown]
# From a shell, over ssh: `hitl-widgets inbox` lists, `hitl-widgets inbox approve ID` decides.
#
# ## Exercises
#
# **10a.** Start two runs with `generate`, for the articles `("Music", "low")` and
# `("War", "high")`. **10b.** Approve the low one and decline the high one in **one** call of
# `hitl.decide_all`, and keep what it gives as `mine`.

# %%
# your code here
# solution:
await asyncio.gather(
    editor("Music", "low").generate("Publish it"), editor("War", "high").generate("Publish it")
)
mine = await hitl.decide_all(
    [
        (r, hitl.Approve() if r.args["risk"] == "low" else hitl.Decline("Too risky."))
        for r in await hitl.pending(agent_id="editor")
    ]
)


# %%
def verdict(title):
    rows = [row for row in hitl.history() if row["tool"] == "publish"]
    return [row["verdict"] for row in rows if row["args"]["title"] == title][-1]


hitl.testing.check_exercise(
    "10",
    {
        "two decisions in one call": lambda: (
            len(mine) == 2 and mine[0].decided_at == mine[1].decided_at
        ),
        "a yes to Music": lambda: verdict("Music") == "approve",
        "a no to War": lambda: verdict("War") == "decline",
    },
)
